import { DateTime } from 'luxon'
import type { Member } from '../api.ts'
import { startOfDay } from '../ui/time/time-zone.ts'

// Which days the calendar shows. A date is yyyy-mm-dd, on the clock of the person's time zone.

export const views = ['month', 'week', 'day', 'list'] as const
/** The time of a new post on a day that was chosen without a time. */
export const Morning = '09:00'

export type View = (typeof views)[number]

/** How the person reads a calendar. `weekStart` is a day from 1, Monday, to 7. */
export type Habits = { weekStart: number; isTwelveHours: boolean }

/** The account's choices. Where it has none, those of the browser's language. */
export function habitsOf({ weekStart, clock }: Member, acceptLanguage: string | null): Habits {
  const locale = localeIn(acceptLanguage)
  const { hour12 = false } = new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions()
  return {
    weekStart: weekStart ?? locale.getWeekInfo?.().firstDay ?? 1,
    isTwelveHours: clock === null ? hour12 : clock === 12,
  }
}

type Locale = Intl.Locale & { getWeekInfo?(): { firstDay: number } } // TypeScript does not know it yet

function localeIn(acceptLanguage: string | null): Locale {
  const [first = ''] = (acceptLanguage ?? '').split(/[,;]/)
  try {
    return new Intl.Locale(first.trim())
  } catch {
    return new Intl.Locale('en-GB')
  }
}

/** The view and the date that an address asks for. No view: the month, or the list on a small screen. */
export function askedIn(query: URLSearchParams, today: string): { view: View | null; date: string } {
  const date = query.get('date') ?? ''
  const isDate = /^[12]\d{3}-\d\d-\d\d$/.test(date) && DateTime.fromISO(date, { zone: 'utc' }).isValid
  return { view: views.find((view) => view === query.get('view')) ?? null, date: isDate ? date : today }
}

/** The first date that a view shows, and the one after its last. A month is shown in whole weeks. */
function datesOf(view: View | null, date: string, weekStart: number): { first: string; end: string } {
  const day = DateTime.fromISO(date, { zone: 'utc' })
  if (view === 'day') return { first: date, end: isoOf(day.plus({ days: 1 })) }
  const [one, other] = view === 'week' ? [day, day] : [day.startOf('month'), day.endOf('month')]
  return { first: isoOf(startOfWeek(one, weekStart)), end: isoOf(startOfWeek(other, weekStart).plus({ days: 7 })) }
}

/** The instants at which the days of a view begin and end in `zone`. */
export function rangeOf(view: View | null, date: string, weekStart: number, zone: string): { from: Date; to: Date } {
  const { first, end } = datesOf(view, date, weekStart)
  const startIn = (of: string) => startOfDay(DateTime.fromISO(`${of}T12:00`, { zone }).toJSDate(), zone)
  return { from: startIn(first), to: startIn(end) }
}

/** The date that the view shows after `count` steps. */
export function dateAfter(view: View | null, date: string, count: number): string {
  const day = DateTime.fromISO(date, { zone: 'utc' })
  if (view === 'day') return isoOf(day.plus({ days: count }))
  return isoOf(view === 'week' ? day.plus({ weeks: count }) : day.startOf('month').plus({ months: count }))
}

/** `November 2026`, `23 – 29 November 2026`, or `Monday 23 November 2026`. */
export function titleOf(view: View | null, date: string, weekStart: number): string {
  const day = DateTime.fromISO(date, { zone: 'utc', locale: 'en' })
  if (view === 'day') return day.toFormat('cccc d LLLL yyyy')
  if (view !== 'week') return day.toFormat('LLLL yyyy')
  const from = startOfWeek(day, weekStart)
  const to = from.plus({ days: 6 })
  const form = from.hasSame(to, 'month') ? 'd' : from.hasSame(to, 'year') ? 'd LLLL' : 'd LLLL yyyy'
  return `${from.toFormat(form)} – ${to.toFormat('d LLLL yyyy')}`
}

/** A time of day as the person reads it. */
export function timeOf(at: string, zone: string, { isTwelveHours }: Habits): string {
  return DateTime.fromISO(at, { zone, locale: 'en' }).toFormat(isTwelveHours ? 'h:mm a' : 'HH:mm')
}

/** The date and time that `zone` shows at an instant, moved by `by`. Changes of the clocks in between do not count. */
export function movedClock(at: string, zone: string, by: { days: number; milliseconds: number }) {
  const shown = DateTime.fromISO(at, { zone }).setZone('utc', { keepLocalTime: true }).plus(by)
  return { date: shown.toFormat('yyyy-MM-dd'), time: shown.toFormat('HH:mm') }
}

function startOfWeek(day: DateTime, weekStart: number): DateTime {
  return day.startOf('day').minus({ days: (day.weekday - weekStart + 7) % 7 })
}

function isoOf(day: DateTime): string {
  return day.toFormat('yyyy-MM-dd')
}
