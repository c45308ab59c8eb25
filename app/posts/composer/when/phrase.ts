import { DateTime } from 'luxon'
import { instantOf } from '../../../../jobs/wall-clock.ts'
import { clockAt } from '../../../ui/time/time-zone.ts'
import type { Wall } from '../typed.ts'

type Clock = { hour: number; minute: number }

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const months = 'january february march april may june july august september october november december'.split(' ')
const named: Record<string, Clock> = {
  morning: { hour: 9, minute: 0 },
  noon: { hour: 12, minute: 0 },
  afternoon: { hour: 15, minute: 0 },
  evening: { hour: 18, minute: 0 },
  tonight: { hour: 20, minute: 0 },
  midnight: { hour: 0, minute: 0 },
}
const units: [RegExp, 'minutes' | 'hours' | 'days' | 'weeks'][] = [
  [/^(m|mins?|minutes?)$/, 'minutes'],
  [/^(h|hrs?|hours?)$/, 'hours'],
  [/^(d|days?)$/, 'days'],
  [/^(w|weeks?)$/, 'weeks'],
]
const MostAhead = { minutes: 100_000, hours: 50_000, days: 1800, weeks: 260 } // posts go at most five years ahead

/**
 * Read a time as people write it: `tomorrow 9`, `fri 17:30`, `in 2 hours`, `next monday 8am`, `25 dec 10:00`. Without a time
 * of day, it is `usual`. A time or a weekday without a day is the next one.
 *
 * Returns what a clock in `zone` shows then, `past` for a day before today, and null for what we don't understand.
 */
export function readPhrase(text: string, now: Date, zone: string, usual = '09:00'): Wall | 'past' | null {
  const phrase = text
    .trim()
    .toLowerCase()
    .replace(/[,\s]+/g, ' ')
    .replace(/\b(on|at) /g, '')
  const here = DateTime.fromJSDate(now, { zone })
  const ahead = /^in (\d{1,6}|an?) ?([a-z]+)$/.exec(phrase)
  if (ahead) return readAhead(ahead[1]!, ahead[2]!, here, zone)
  for (const { day, clock } of splits(phrase.split(' '))) {
    const at = clock === '' ? clockOf(usual, false) : clockOf(clock, day === 'tonight')
    const days = at && daysOf(day, here)
    if (days) return firstOf(days, at, here)
  }
  return null
}

function readAhead(count: string, name: string, here: DateTime, zone: string): Wall | null {
  const unit = units.find(([names]) => names.test(name))?.[1]
  const number = Number(count) || (count === '0' ? 0 : 1) // `an hour`
  if (!unit || number > MostAhead[unit]) return null
  const whole = here.startOf('minute')
  const begun = whole < here && (unit === 'minutes' || unit === 'hours') ? whole.plus({ minutes: 1 }) : whole
  return shownOnce(begun.plus({ [unit]: number }), zone)
}

// If clocks show a time twice, the fields mean the first one. A post is never sent earlier than the phrase says.
function shownOnce(at: DateTime, zone: string): Wall {
  const wall = clockAt(at.toJSDate(), zone)
  const meant = instantOf(wall.date, wall.time, zone)!
  return meant.getTime() < at.startOf('minute').toMillis() ? shownOnce(at.plus({ minutes: 1 }), zone) : wall
}

/** The ways to split the words into a day and a time, in either order. */
function splits(words: string[]): { day: string; clock: string }[] {
  const all = []
  for (let at = 0; at <= words.length; at++) {
    const [first, rest] = [words.slice(0, at).join(' '), words.slice(at).join(' ')]
    all.push({ day: first, clock: rest }, { day: rest, clock: first })
  }
  return all.filter(({ day, clock }) => day !== '' || clock !== '')
}

function clockOf(text: string, isNight: boolean): Clock | null {
  if (Object.hasOwn(named, text)) return named[text]!
  const [, digits, , half] = /^(\d{1,2}([:.]\d{2})?) ?([ap])?(?:\.?m\.?)?$/.exec(text) ?? []
  if (!digits || (!half && /m/.test(text))) return null
  const [hour = 0, minute = 0] = digits.split(/[:.]/).map(Number)
  if (minute > 59 || hour > 23 || (half && (hour < 1 || hour > 12))) return null
  if (half) return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute }
  return { hour: isNight && hour < 12 ? hour + 12 : hour, minute }
}

/** The days that the words may mean, soonest first. If there are several, the first one that is not over counts. */
function daysOf(words: string, here: DateTime): DateTime[] | null {
  const today = here.startOf('day')
  if (words === '') return [today, today.plus({ days: 1 })]
  if (words === 'today' || words === 'tonight') return [today]
  if (words === 'tomorrow') return [today.plus({ days: 1 })]
  if (/^(the )?day after tomorrow$/.test(words)) return [today.plus({ days: 2 })]
  if (words === 'next week') return [today.plus({ weeks: 1 })]
  return weekdaysOf(words, today) ?? datesOf(words, today)
}

// `next friday` is the one of next week, which begins on Monday. `friday` and `this friday` are the next to come.
function weekdaysOf(words: string, today: DateTime): DateTime[] | null {
  const [, which = '', name = ''] = /^(?:(next|this) )?([a-z]{3,})$/.exec(words) ?? []
  const index = weekdays.findIndex((weekday) => weekday.startsWith(name))
  if (name === '' || index < 0) return null
  const ofWeek = today.startOf('week').plus({ days: index })
  if (which === 'next') return [ofWeek.plus({ weeks: 1 })]
  return [0, 1, 2].map((weeks) => ofWeek.plus({ weeks })).filter((day) => day >= today)
}

// Never month and day as numbers alone: 4/5 means different days in different countries.
function datesOf(words: string, today: DateTime): DateTime[] | null {
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(words)
  if (iso) return daysIn(Number(iso[2]), Number(iso[3]), today, iso[1])
  const dayFirst = /^(?:the )?(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?([a-z]{3,})\.?(?: (\d{4}))?$/.exec(words)
  const monthFirst = /^([a-z]{3,})\.? (\d{1,2})(?:st|nd|rd|th)?(?: (\d{4}))?$/.exec(words)
  const [name, day, year] = dayFirst ? [dayFirst[2], dayFirst[1], dayFirst[3]] : (monthFirst?.slice(1) ?? [])
  const month =
    months.findIndex((one) => name && (one.startsWith(name) || (name === 'sept' && one === 'september'))) + 1
  return month > 0 ? daysIn(month, Number(day), today, year) : null
}

// Without a year: this year and those after it, of which a 29 February skips some.
function daysIn(month: number, day: number, today: DateTime, year: string | undefined): DateTime[] | null {
  const years = year ? [Number(year)] : Array.from({ length: 9 }, (_, ahead) => today.year + ahead)
  const days = years
    .map((year) => DateTime.fromObject({ year, month, day }, { zone: today.zone }))
    .filter((date) => date.isValid && (year !== undefined || date >= today))
  return days.length > 0 ? days : null
}

function firstOf(days: DateTime[], { hour, minute }: Clock, here: DateTime): Wall | 'past' {
  const [time, today] = [`${two(hour)}:${two(minute)}`, here.toFormat('yyyy-MM-dd')]
  const dates = days.map((day) => day.toFormat('yyyy-MM-dd'))
  const isAhead = (date: string) => instantOf(date, time, here.zoneName!)! > here.toJSDate()
  const date = (dates.length > 1 ? dates.find(isAhead) : undefined) ?? dates[0]!
  return date < today ? 'past' : { date, time }
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
