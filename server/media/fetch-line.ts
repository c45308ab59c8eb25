import { Failure } from '../errors.ts'
import { FetchesAtOnce } from './uploads.ts'

const WaitingAtMost = 20
const WaitMs = 30_000
const LookEveryMs = 250 // a place may be given back by another process
const RetryAfterSeconds = 10

type Waiter = { wake: () => void }

const lines = new Map<string, Waiter[]>()

/**
 * Wait until `take` gives the organisation a place for a fetch, first come, first served: for at most 30 s, and at most 20 of
 * an organisation at a time in this process.
 *
 * Throws `rate_limited` when the line is too long or too slow, and the reason of `signal` once that is aborted.
 */
export async function waitForPlace(
  organisationId: string,
  take: () => Promise<boolean>,
  signal: AbortSignal,
  waitMs = WaitMs,
): Promise<void> {
  const line = lines.get(organisationId) ?? []
  if (line.length >= WaitingAtMost) refuse()
  lines.set(organisationId, line)
  const waiter: Waiter = { wake: () => {} }
  line.push(waiter)
  const wake = () => waiter.wake()
  signal.addEventListener('abort', wake)
  try {
    for (const end = performance.now() + waitMs; ; ) {
      signal.throwIfAborted()
      if (line[0] === waiter && (await take())) return
      if (performance.now() > end) refuse()
      await moved(waiter, signal)
    }
  } finally {
    signal.removeEventListener('abort', wake)
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) lines.delete(organisationId)
    wakeFirst(organisationId)
  }
}

/** Wake the first in the organisation's line, because a place is free again. */
export function wakeFirst(organisationId: string): void {
  lines.get(organisationId)?.[0]?.wake()
}

function moved(waiter: Waiter, signal: AbortSignal): Promise<void> {
  return new Promise((go) => {
    const timer = setTimeout(go, LookEveryMs)
    waiter.wake = () => {
      clearTimeout(timer)
      go()
    }
    if (signal.aborted) waiter.wake()
  })
}

function refuse(): never {
  const detail = `We fetch ${FetchesAtOnce} files at a time for each organisation, and all places are taken. Try again in ${RetryAfterSeconds} s.`
  throw new Failure('rate_limited', { detail, retryAfterSeconds: RetryAfterSeconds })
}
