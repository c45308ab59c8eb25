import { Failure } from '../errors.ts'

const RetryAfterSeconds = 10

/**
 * Runs at most `atOnce` pieces of work at a time, shared out among organisations: each has one under way at most, and the
 * next place goes to the one that has waited longest since its last. Throws `rate_limited` when `waitingAtMost` of one
 * organisation wait already.
 */
export function limitPerOrganisation(
  atOnce: number,
  waitingAtMost: number,
): <T>(organisationId: string, work: () => Promise<T>) => Promise<T> {
  const busy = new Set<string>()
  const waiting = new Map<string, (() => void)[]>() // in the order of their turns
  const beginNext = () => {
    const next = busy.size < atOnce && [...waiting].find(([organisationId]) => !busy.has(organisationId))
    if (!next) return
    const [organisationId, [begin, ...rest]] = next
    if (rest.length > 0) waiting.set(organisationId, rest)
    else waiting.delete(organisationId)
    busy.add(organisationId)
    begin!()
  }
  return async (organisationId, work) => {
    const before = waiting.get(organisationId) ?? []
    if (before.length >= waitingAtMost) refuse()
    await new Promise<void>((begin) => {
      waiting.set(organisationId, [...before, begin])
      beginNext()
    })
    try {
      return await work()
    } finally {
      busy.delete(organisationId)
      const rest = waiting.get(organisationId) ?? []
      waiting.delete(organisationId) // its other work goes behind the others
      if (rest.length > 0) waiting.set(organisationId, rest)
      beginNext()
    }
  }
}

function refuse(): never {
  const detail = `Too many files of this organisation are waiting. Try again in ${RetryAfterSeconds} s.`
  throw new Failure('rate_limited', { detail, retryAfterSeconds: RetryAfterSeconds })
}
