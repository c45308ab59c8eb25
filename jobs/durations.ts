const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Every duration of the engine in milliseconds, in one object so that tests run at a tenth of it. */
export const times = {
  leaseMs: 30 * second,
  heartbeatMs: 5 * second, // how often a lease is renewed
  claimedAtMostMs: 10 * minute, // no renewal beyond: a claim that hangs loses its lease
  sendingAtMostMs: 30 * second,
  prepareMs: 5 * minute,
  beginMs: 3 * second, // from the intent to the first byte
  sendMs: 15 * second,
  firstLookMs: 10 * second, // after a send's own limit: the soonest that its absence means anything
  lookSpreadMs: 10 * second, // what became uncertain at one instant is looked for over so long
  lookPaceMs: second, // a reading keeps its place for so long at the least
  settlesWithinMs: minute, // between two readings, where the network declares nothing else
  lookLeaseMs: minute,
  backoffMs: [30 * second, minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute, hour],
  waitAtMostMs: 6 * hour, // what a network's Retry-After is worth
  giveUpMs: 24 * hour,
  reaperMs: second,
  goneMs: 0.8 * second, // how long a worker's lock must have been free: seen at two ticks in a row
  overdueMs: 10 * second, // a channel whose head waits longer has lost its wake-up
  graceAfterRestartMs: 30 * second, // after PostgreSQL started, a free lock proves no death
  canaryMs: 20 * second, // how often a worker proves that it still takes jobs
  webhookMs: 10 * second, // one call of a webhook
  webhookLeaseMs: 30 * second,
  // Ten tries over about a day.
  webhookBackoffMs: [
    5 * second,
    30 * second,
    2 * minute,
    10 * minute,
    30 * minute,
    2 * hour,
    4 * hour,
    8 * hour,
    10 * hour,
  ],
  webhookRestMs: 10 * minute, // the longest that one that fails is left alone
  webhookOffMs: 72 * hour, // failing for so long, it is switched off
  webhookSweepMs: 10 * second, // how often a lost wake-up is looked for
  revokeBackoffMs: [minute, 10 * minute, hour, 6 * hour], // between tries to end a credential at its network
  alarmMs: 5 * second, // the alarm looks again at least so often
  limitsMs: minute, // how often a worker looks whose limits are to be read again
  limitsAgeMs: 24 * hour, // how old a channel's limits become, ± 4 h
  limitsAgainMs: hour, // the pause after a reading that failed
  minuteMs: minute, // how often a worker writes down what it did
  silenceMs: 15 * second, // longer than a connection may take to open, and than a statement of ours may run
  stopAtMostMs: 50 * second, // a send has at most 18 s, and its record the lease's time; npm start kills after 60 s
  liveWithinMs: 30 * second, // without a reaper's tick for so long, a worker is not live
  canaryWithinMs: minute, // likewise without a job of its own
}

export type Times = typeof times

/**
 * All durations multiplied by `factor`, but those that a person measures in hours and those after which a process is taken
 * for hopeless. The first byte gets three times as long: a busy machine is no faster for the tests.
 */
export function scaledTimes(factor: number): Times {
  const { waitAtMostMs, giveUpMs, webhookOffMs, silenceMs, stopAtMostMs, liveWithinMs, canaryWithinMs, ...others } =
    times
  const { limitsAgeMs, limitsAgainMs, ...scalable } = others
  const { beginMs, backoffMs, webhookBackoffMs, revokeBackoffMs, ...short } = scalable
  const scaled = Object.fromEntries(Object.entries(short).map(([name, ms]) => [name, ms * factor]))
  return {
    ...{ ...times, ...scaled },
    beginMs: Math.min(beginMs, 3 * beginMs * factor),
    backoffMs: backoffMs.map((ms) => ms * factor),
    webhookBackoffMs: webhookBackoffMs.map((ms) => ms * factor),
    revokeBackoffMs: revokeBackoffMs.map((ms) => ms * factor),
  }
}
