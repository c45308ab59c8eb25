import type { Recorded } from './network.ts'

// Clocks drift, an answer is under way for a while, and a post is out some time after it was sent.
const ToleranceMs = 5 * 60_000

// Instants that are whole seconds, and clocks that drift.
const SecondsMs = 10_000

/**
 * What is known of a network's clock around a send: by how much it was ahead of ours before it, and since.
 *
 * Instants of the network are compared by it only. `since` is the intent, by our clock.
 */
export type NetworkClock = {
  /** A post of ours that is recorded, as the network dates it. */
  sawRecorded: (theirs: Date, recorded: Recorded) => void
  /** The `Date` of an answer that came at `ours`. */
  sawDate: (theirsMs: number | null, ours: Date) => void
  /** Whether what the network dates so is older than the send, whichever of the clock's errors is true. */
  isBefore: (theirs: Date) => boolean
  /** Whether it may be older or younger: the clock jumped, or was never seen and does not date it between the send and now. */
  isDoubtful: (theirs: Date) => boolean
  /** The clock was seen before the send and after it: `isBefore` can be relied on. */
  isSettled: () => boolean
  /** Whether what the network dates so is younger than the send by one of the clock's errors, seconds aside: no tolerance. */
  isAfter: (theirs: Date) => boolean
  /** As far as it was seen it did not jump by more than the tolerance. */
  isSteady: () => boolean
  /** A post of its own dated it. A `Date` may be that of a proxy in front, which has a clock of its own. */
  isItsOwn: () => boolean
}

/** `connectedAheadMs`: its error when the channel was connected, which counts when no recorded post tells a newer one. */
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
