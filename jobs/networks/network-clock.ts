import type { Recorded } from './network.ts'

// Clocks drift, an answer takes a while to arrive, and a post appears some time after it was sent.
const ToleranceMs = 5 * 60_000

// Some instants are whole seconds, and clocks drift.
const SecondsMs = 10_000

/**
 * What we know about a network's clock around a send: how far it was ahead of ours before the send, and since then.
 *
 * We compare the network's instants only with this. `since` is the intent, by our clock.
 */
export type NetworkClock = {
  /** We saw a recorded post of ours, with the network's date for it. */
  sawRecorded: (theirs: Date, recorded: Recorded) => void
  /** We saw the `Date` of an answer that arrived at `ours`. */
  sawDate: (theirsMs: number | null, ours: Date) => void
  /** Whether a post with this date is older than the send, whichever of the clock's errors is true. */
  isBefore: (theirs: Date) => boolean
  /** It may be older or younger: the clock jumped, or we never saw it and the date is not between the send and now. */
  isDoubtful: (theirs: Date) => boolean
  /** We saw the clock before the send and after it: `isBefore` is reliable. */
  isSettled: () => boolean
  /** Whether a post with this date is younger than the send by one of the clock's errors. Only 10 s are tolerated. */
  isAfter: (theirs: Date) => boolean
  /** As far as we saw the clock, it did not jump by more than the tolerance. */
  isSteady: () => boolean
  /** A recorded post showed the server's own clock. A `Date` may come from a proxy in front, with another clock. */
  isItsOwn: () => boolean
}

/** `connectedAheadMs`: its error when the channel was connected. It counts if no recorded post shows a newer error. */
export function networkClock(since: Date, connectedAheadMs: number | null): NetworkClock {
  let before: number | null = null
  let newestSentAt = Number.NEGATIVE_INFINITY
  const after: number[] = []
  let askedAt = since
  const errors = () => [...(before === null ? known(connectedAheadMs) : [before]), ...after]
  let isItsOwn = false
  return {
    sawRecorded(theirs, { sentAt, recordedAt }) {
      const error = theirs.getTime() - sentAt.getTime()
      isItsOwn = true
      if (sentAt >= since) after.push(error)
      else if (recordedAt < since && sentAt.getTime() > newestSentAt) {
        newestSentAt = sentAt.getTime()
        before = error
      }
    },
    sawDate(theirsMs, ours) {
      askedAt = ours
      if (theirsMs !== null) after.push(theirsMs - ours.getTime())
    },
    isBefore: (theirs) =>
      errors().length > 0 && theirs.getTime() < since.getTime() + Math.min(...errors()) - ToleranceMs,
    isDoubtful: (theirs) =>
      errors().length === 0
        ? theirs.getTime() < since.getTime() - SecondsMs || theirs.getTime() > askedAt.getTime() + SecondsMs
        : theirs.getTime() < since.getTime() + Math.max(...errors()) - ToleranceMs,
    isAfter: (theirs) => theirs.getTime() >= since.getTime() + Math.min(...errors()) - SecondsMs,
    isSettled: () => after.length > 0 && (before ?? connectedAheadMs) !== null,
    isItsOwn: () => isItsOwn,
    isSteady: () => errors().length > 0 && Math.max(...errors()) - Math.min(...errors()) <= ToleranceMs,
  }
}

function known(error: number | null): number[] {
  return error === null ? [] : [error]
}
