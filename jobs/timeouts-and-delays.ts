const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Every duration of the engine, in milliseconds. They are in one object so that tests can use a tenth of each. */
export const times = {
  leaseMs: 30 * second,
  heartbeatMs: 5 * second, // how often a lease is renewed
  claimedAtMostMs: 10 * minute, // then we stop renewing: a claim that hangs loses its lease
  sendingAtMostMs: 30 * second,
  prepareMs: 5 * minute,
  beginMs: 3 * second, // from the intent to the first byte
  sendMs: 15 * second,
  firstLookMs: 10 * second, // after a send's time limit: before this, a missing post proves nothing
  lookSpreadMs: 10 * second, // we spread looks for deliveries that became uncertain together over this time
  lookPaceMs: second, // a look keeps its place at least this long
  settlesWithinMs: minute, // between two looks, unless the network declares another time
  lookLeaseMs: minute,
  backoffMs: [30 * second, minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute, hour],
  waitAtMostMs: 6 * hour, // we follow a network's Retry-After up to this limit
  giveUpMs: 24 * hour,
  reaperMs: second,
  goneMs: 0.8 * second, // how long a worker's lock must be free, at two ticks in a row, to count as dead
  overdueMs: 10 * second, // if the head of a channel waits longer, its wake-up is lost
  graceAfterRestartMs: 30 * second, // after PostgreSQL starts, a free lock proves no death
  canaryMs: 20 * second, // how often a worker checks that it still runs jobs
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
  webhookRestMs: 10 * minute, // the longest pause after a failure
  webhookOffMs: 72 * hour, // we switch a webhook off after it has failed this long
  webhookSweepMs: 10 * second, // how often we look for lost wake-ups
  mailConnectMs: 10 * second, // to reach the mail server, and until it greets us
  mailSilenceMs: 15 * second,
  mailMs: 45 * second, // one mail, all together
  mailLeaseMs: 2 * minute,
  mailSweepMs: 10 * second, // how often we collect notices, and look for lost wake-ups
  mailStopMs: 10 * second, // how long a stop waits for mails that are being sent; another worker sends them again
  postNoticeMs: 5 * minute, // notices of posts wait this long, so that one mail has many
  otherNoticeMs: minute, // the same for channels and webhooks
  channelNoticeMs: hour, // between two mails about channels
  revokeBackoffMs: [minute, 10 * minute, hour, 6 * hour], // between tries to revoke a credential at its network
  alarmMs: 5 * second, // the alarm checks at least this often
  limitsMs: minute, // how often a worker checks which channels' limits it must read again
  limitsAgeMs: 24 * hour, // we read a channel's limits again at this age, ± 4 h
  limitsAgainMs: hour, // the pause after a failed read
  minuteMs: minute, // how often a worker records what it did
  silenceMs: 15 * second, // longer than the limits for opening a connection and for running a statement
  stopAtMostMs: 50 * second, // a send takes at most 18 s, recording it at most a lease; npm start kills after 60 s
  liveWithinMs: 30 * second, // without a reaper tick for this long, a worker is not live
  canaryWithinMs: minute, // the same without a job of its own
}

export type Times = typeof times

/**
 * All durations multiplied by `factor`, except those that people measure in hours, and those after which we replace a
 * hanging process. The first byte gets three times as long, because a busy machine is not faster in tests.
 */
export function scaledTimes(factor: number): Times {
  const { waitAtMostMs, giveUpMs, webhookOffMs, silenceMs, stopAtMostMs, liveWithinMs, canaryWithinMs, ...others } =
    times
  const { limitsAgeMs, limitsAgainMs, channelNoticeMs, ...scalable } = others
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

/** How long to wait after `step` waits, in ms: 30 s, 1, 2, 5, 15, 30 min, then hourly, each ± 20 %. */
export function backoff({ backoffMs }: Times, step: number): number {
  const ms = backoffMs[Math.min(step, backoffMs.length - 1)]!
  return ms * (0.8 + 0.4 * Math.random())
}
