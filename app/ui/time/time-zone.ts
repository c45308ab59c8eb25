import { DateTime } from 'luxon'
import { instantOf, isZone } from '../../../jobs/wall-clock.ts'
import { nowMs } from './now.ts'

/** What a clock in `zone` shows at an instant, in the form of the fields Date and Time. */
export function clockAt(instant: string | Date, zone: string): { date: string; time: string } {
  const at = DateTime.fromJSDate(new Date(instant), { zone })
  return { date: at.toFormat('yyyy-MM-dd'), time: at.toFormat('HH:mm') }
}

/** `Friday, 27 November 2026, 17:30 Europe/Berlin` */
export function inFull(instant: Date, zone: string): string {
  return `${DateTime.fromJSDate(instant, { zone }).setLocale('en').toFormat('cccc, d MMMM yyyy, HH:mm')} ${zone}`
}

/** `UTC+02:00`, of a zone at an instant. */
export function offsetAt(instant: Date, zone: string): string {
  return DateTime.fromJSDate(instant, { zone }).toFormat("'UTC'ZZ")
}

/** The instant at which the day of `now` began in `zone`. */
export function startOfDay(now: Date, zone: string): Date {
  return DateTime.fromJSDate(now, { zone }).startOf('day').toJSDate()
}

/** The date and time of `yyyy-mm-ddThh:mm`. Null: it is no such thing. */
export function clockIn(written: string | null): { date: string; time: string } | null {
  const [, date, time] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)$/.exec(written ?? '') ?? []
  return date && time && instantOf(date, time, 'UTC') ? { date, time } : null
}

/** The time zones to choose from, with those `inUse`: some have a second name, which no list has. */
export function timeZones(...inUse: string[]): string[] {
  return [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), ...inUse])]
}

/** The zone in which a form has its date and time. The person's `own` may be another one by now. */
export function zoneIn(form: FormData, own: string): string {
  const zone = String(form.get('zone') ?? '')
  return isZone(zone) ? zone : own
}

/** The next full hour on a clock in `zone` that is at least ten minutes away. */
export function nextHour(zone: string): { date: string; time: string } {
  const soon = DateTime.fromMillis(nowMs(), { zone }).plus({ minutes: 10 })
  const hour = soon.startOf('hour').plus({ hours: 1 })
  const next = clockAt(hour.toJSDate(), zone)
  // When clocks are set back, an hour is shown twice and means the first one, which may be over.
  const isOver = instantOf(next.date, next.time, zone)! < soon.toJSDate()
  return isOver ? clockAt(hour.plus({ hours: 1 }).toJSDate(), zone) : next
}
