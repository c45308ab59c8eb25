import { DateTime, IANAZone } from 'luxon'
import type { WeeklyTime } from '../../db/schema/queues.ts'
import { instantOf } from '../wall-clock.ts'

/** The weekly times of a queue, and the zone of its clock. */
export type WeeklyTimes = { timeZone: string; times: WeeklyTime[] }

const FurthestYears = 5 // as far as a post can be scheduled

/**
 * The instants after `after` at which a clock in the queue's zone shows one of its weekly times, for five years. They
 * strictly increase. A time that the clocks skip becomes the first instant after it, and counts once if that is another
 * time of the queue. Of a time that they show twice, it is the earlier one.
 */
export function* timesAfter({ timeZone, times }: WeeklyTimes, after: Date): Generator<Date> {
  if (times.length === 0) return
  const byWeekday = Map.groupBy(inOrder(times), ({ weekday }) => weekday)
  const last = DateTime.fromJSDate(after).plus({ years: FurthestYears })
  let latest = after.getTime()
  // From the day before: a time that the clocks skip at midnight is on the next day.
  let day = DateTime.fromJSDate(after, { zone: timeZone }).setZone('utc', { keepLocalTime: true }).startOf('day')
  for (day = day.minus({ days: 1 }); ; day = day.plus({ days: 1 })) {
    if (day > last) return
    for (const ms of instantsOf(byWeekday.get(day.weekday) ?? [], day, timeZone)) {
      if (ms <= latest) continue
      if (ms > last.toMillis()) return
      latest = ms
      yield new Date(ms)
    }
  }
}

/** The next `count` times after `after` that are not `taken` (in ms), fewer if there are no more. */
export function nextTimes(queue: WeeklyTimes, after: Date, count: number, taken = new Set<number>()): Date[] {
  const next: Date[] = []
  if (count === 0) return next
  for (const time of timesAfter(queue, after)) {
    if (!taken.has(time.getTime())) next.push(time)
    if (next.length === count) break
  }
  return next
}

/** The times in a range of days that are after `now` and not `taken` (in ms): at most the first `count`. */
export function timesWithin(
  queue: WeeklyTimes,
  now: Date,
  { from, to }: { from: Date; to: Date },
  count: number,
  taken: Set<number>,
): Date[] {
  const within: Date[] = []
  const furthest = DateTime.fromJSDate(now).plus({ years: FurthestYears }).toMillis()
  for (const time of timesAfter(queue, new Date(Math.max(now.getTime(), from.getTime() - 1)))) {
    if (time >= to || time.getTime() > furthest || within.length === count) break
    if (!taken.has(time.getTime())) within.push(time)
  }
  return within
}

/** Whether `date` is one of the weekly times. */
export function isTimeOf(queue: WeeklyTimes, date: Date): boolean {
  const { value } = timesAfter(queue, new Date(date.getTime() - 1)).next()
  return value instanceof Date && value.getTime() === date.getTime()
}

/** Weekly times from Monday morning to Sunday night. */
export function inOrder(times: WeeklyTime[]): WeeklyTime[] {
  return times.toSorted((a, b) => a.weekday - b.weekday || a.time.localeCompare(b.time))
}

// `day` is its midnight, as if its clock were UTC's. Only where the clocks may change we ask for each time: that is slow.
function instantsOf(times: WeeklyTime[], day: DateTime, timeZone: string): number[] {
  if (times.length === 0) return []
  const zone = IANAZone.create(timeZone)
  const [before, behind] = [-1, 2].map((days) => zone.offset(day.plus({ days }).toMillis()))
  if (before !== behind) return times.map(({ time }) => instantOf(day.toISODate()!, time, timeZone)!.getTime())
  return times.map(({ time }) => day.toMillis() + (minutesOf(time) - before!) * 60_000)
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return hours! * 60 + minutes!
}
