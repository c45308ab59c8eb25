import { Failure } from '../errors.ts'

const RetryAfterSeconds = 10

/** `each`: how many pieces of work one organisation may have under way, 1 by default. `of`: what they are, for the refusal. */
type Limits = { atOnce: number; each?: number; waitingAtMost: number; of: string }

/**
 * Runs at most `atOnce` pieces of work at a time, shared out among organisations: each has `each` under way at most, and
 * the next place goes to the one that has waited longest since its last. Throws `rate_limited` when `waitingAtMost` of
 * one organisation wait already.
 */
export function limitPerOrganisation({
  atOnce,
  each = 1,
  waitingAtMost,
  of,
}: Limits): <T>(organisationId: string, work: () => Promise<T>) => Promise<T> {
  let underWay = 0
  const busy = new Map<string, number>() // how many pieces of each
  const waiting = new Map<string, (() => void)[]>() // in the order of their turns
  const mayBegin = (organisationId: string) => (busy.get(organisationId) ?? 0) < each
  const count = (organisationId: string, change: 1 | -1) => {
    underWay += change
    const left = (busy.get(organisationId) ?? 0) + change
    if (left > 0) busy.set(organisationId, left)
    else busy.delete(organisationId)
  }
  const beginNext = () => {
    const next = underWay < atOnce && [...waiting].find(([organisationId]) => mayBegin(organisationId))
    if (!next) return
    const [organisationId, [begin, ...rest]] = next
    if (rest.length > 0) waiting.set(organisationId, rest)
    else waiting.delete(organisationId)
    count(organisationId, 1)
    begin!()
  }
  return async (organisationId, work) => {
    const before = waiting.get(organisationId) ?? []
    if (before.length >= waitingAtMost) refuse(of)
    await new Promise<void>((begin) => {
      waiting.set(organisationId, [...before, begin])
      beginNext()
    })
    try {
      return await work()
    } finally {
      count(organisationId, -1)
      const rest = waiting.get(organisationId) ?? []
      waiting.delete(organisationId) // its other work goes behind the others
      if (rest.length > 0) waiting.set(organisationId, rest)
      beginNext()
    }
  }
}

function refuse(of: string): never {
  const detail = `Too many ${of} of this organisation are waiting. Try again in ${RetryAfterSeconds} s.`
  throw new Failure('rate_limited', { detail, retryAfterSeconds: RetryAfterSeconds })
}
