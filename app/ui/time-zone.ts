import { DateTime, IANAZone } from 'luxon'

/**
 * The instant that a clock in `zone` shows as `date` (yyyy-mm-dd) and `time` (hh:mm). A time that the clocks skip
 * becomes the first instant after it. Of a time that they show twice, it is the earlier one. Null when the date or the
 * time is not valid.
 */
export function instantOf(date: string, time: string, zone: string): Date | null {
  const written = DateTime.fromISO(`${date}T${time}`, { zone: 'utc' })
  if (!written.isValid) return null
  const clock = IANAZone.create(zone)
  const wallMs = written.toMillis()
  // No zone changes twice within two days, so these are the offsets that may apply.
  const around = [-1, 1].map((days) => written.plus({ days }).toMillis())
  const offsets = around.map((ms) => clock.offset(ms))
  const candidates = offsets.map((minutes) => wallMs - minutes * 60_000)
  const shown = candidates.filter((ms) => ms + clock.offset(ms) * 60_000 === wallMs)
  if (shown.length > 0) return new Date(Math.min(...shown))
  return new Date(changeBetween(clock, Math.min(...candidates), Math.max(...candidates)))
}

/** The first instant (ms) after `before` at which the clock has the offset that it has at `after`. */
function changeBetween(clock: IANAZone, before: number, after: number): number {
  if (after - before <= 1) return after
  const middle = Math.floor((before + after) / 2)
  return clock.offset(middle) === clock.offset(after)
    ? changeBetween(clock, before, middle)
    : changeBetween(clock, middle, after)
}

/** What a clock in `zone` shows at an instant, in the form of the fields Date and Time. */
export function clockAt(instant: string | Date, zone: string): { date: string; time: string } {
  const at = DateTime.fromJSDate(new Date(instant), { zone })
  return { date: at.toFormat('yyyy-MM-dd'), time: at.toFormat('HH:mm') }
}

/** `UTC+02:00`, of a zone at an instant. */
export function offsetAt(instant: Date, zone: string): string {
  return DateTime.fromJSDate(instant, { zone }).toFormat("'UTC'ZZ")
}

/** The instant at which the day of `now` began in `zone`. */
export function startOfDay(now: Date, zone: string): Date {
  return DateTime.fromJSDate(now, { zone }).startOf('day').toJSDate()
}

/** The next full hour on a clock in `zone` that is at least ten minutes away. */
export function nextHour(zone: string): { date: string; time: string } {
  const soon = DateTime.now().setZone(zone).plus({ minutes: 10 })
  return clockAt(soon.startOf('hour').plus({ hours: 1 }).toJSDate(), zone)
}
