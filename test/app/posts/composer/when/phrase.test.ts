import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { readPhrase } from '../../../../../app/posts/composer/when/phrase.ts'
import { clockAt, inFull, nextHour } from '../../../../../app/ui/time/time-zone.ts'
import { instantOf, isShownTwice } from '../../../../../jobs/wall-clock.ts'

const Tuesday = new Date('2026-11-24T20:45:20Z') // 21:45 in Berlin

test.each([
  ['tomorrow 9', '2026-11-25', '09:00'],
  ['Tomorrow at 9:30pm', '2026-11-25', '21:30'],
  ['9am tomorrow', '2026-11-25', '09:00'],
  ['day after tomorrow, noon', '2026-11-26', '12:00'],
  ['fri 17:30', '2026-11-27', '17:30'],
  ['this friday', '2026-11-27', '10:15'],
  ['on friday at 5 p.m.', '2026-11-27', '17:00'],
  ['next friday 8', '2026-12-04', '08:00'],
  ['next monday 8am', '2026-11-30', '08:00'],
  ['tue 22:00', '2026-11-24', '22:00'],
  ['tuesday 9', '2026-12-01', '09:00'], // today's is over
  ['next week', '2026-12-01', '10:15'],
  ['22:30', '2026-11-24', '22:30'],
  ['9', '2026-11-25', '09:00'],
  ['12am', '2026-11-25', '00:00'],
  ['12pm', '2026-11-25', '12:00'],
  ['midnight', '2026-11-25', '00:00'],
  ['tonight 11', '2026-11-24', '23:00'],
  ['today 23.15', '2026-11-24', '23:15'],
  ['in 2 hours', '2026-11-24', '23:46'], // rounded up to a minute
  ['in 90 min', '2026-11-24', '23:16'],
  ['in an hour', '2026-11-24', '22:46'],
  ['in 3 days', '2026-11-27', '21:45'],
  ['25 dec 10:00', '2026-12-25', '10:00'],
  ['Dec 25th, 2027 10:00', '2027-12-25', '10:00'],
  ['10:00 the 25th of december', '2026-12-25', '10:00'],
  ['1 march', '2027-03-01', '10:15'],
  ['29 feb 8:00', '2028-02-29', '08:00'],
  ['2027-01-31 18:00', '2027-01-31', '18:00'],
])('%s is %s, %s', (phrase, date, time) => {
  expect(readPhrase(phrase, Tuesday, 'Europe/Berlin', '10:15')).toEqual({ date, time })
})

test.each([
  '',
  'soon',
  '4/5',
  '25',
  '13pm',
  '0am',
  '24:00',
  '9:60',
  '30 feb',
  '32 dec',
  'tomorrow 9 9',
  'in 2 moons',
  'in 999999 weeks',
  'constructor',
])('%j is not understood', (phrase) => {
  expect(readPhrase(phrase, Tuesday, 'Europe/Berlin')).toBeNull()
})

test('a day before today gets another answer than a text that is not understood', () => {
  expect(readPhrase('24 november 2025 10:00', Tuesday, 'Europe/Berlin')).toBe('past')
})

test('each phrase is a time of today or later, in every zone and at every minute', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'Europe/Berlin', 'America/St_Johns')
  const seconds = fc.integer({ min: Date.UTC(2020, 0) / 1000, max: Date.UTC(2040, 0) / 1000 })
  fc.assert(
    fc.property(zones, seconds, aPhrase, (zone, second, phrase) => {
      const now = new Date(second * 1000)
      const read = readPhrase(phrase, now, zone)
      expect([phrase, typeof read]).toEqual([phrase, 'object'])
      const { date, time } = read as { date: string; time: string }
      expect(date >= clockAt(now, zone).date).toBe(true)
      const instant = instantOf(date, time, zone)!
      if (!/^(today|tonight .)/.test(phrase)) expect(instant.getTime()).toBeGreaterThan(now.getTime() - 60_000)
    }),
    { numRuns: 3000 },
  )
})

const aPhrase = fc
  .oneof(
    fc.tuple(fc.constantFrom('today', 'tomorrow', 'fri', 'next monday', 'sunday', '25 dec', 'mar 8', ''), aClock()),
    fc.tuple(
      fc.constant('in'),
      fc.integer({ min: 1, max: 1000 }),
      fc.constantFrom('minutes', 'hours', 'days', 'weeks'),
    ),
  )
  .filter((words) => words[2] !== 'weeks' || Number(words[1]) <= 260)
  .map((words) => words.join(' ').trim())

function aClock() {
  const hours = fc.integer({ min: 0, max: 23 })
  const minutes = fc.integer({ min: 0, max: 59 }).map((minute) => String(minute).padStart(2, '0'))
  return fc.oneof(
    fc.tuple(hours, minutes).map((clock) => clock.join(':')),
    hours.map(String),
    fc.constantFrom('9am', '12 pm', 'noon', 'midnight', 'evening'),
  )
}

test.each([
  ['Europe/Berlin', '2027-03-27T12:00:00Z', 'tomorrow 2:30', '2027-03-28T01:00:00.000Z'], // 02:30 does not exist
  ['Europe/Berlin', '2026-10-24T12:00:00Z', 'tomorrow 2:30', '2026-10-25T00:30:00.000Z'], // the first of two
  ['Europe/Berlin', '2026-10-25T00:10:00Z', 'in 1 hour', '2026-10-25T02:00:00.000Z'], // the second 02:10 cannot be written
  ['America/St_Johns', '2027-03-13T16:00:00Z', 'tomorrow 2:15', '2027-03-14T05:30:00.000Z'],
  ['America/St_Johns', '2026-10-31T16:00:00Z', 'tomorrow 1:15', '2026-11-01T03:45:00.000Z'],
  ['America/St_Johns', '2026-11-01T03:00:00Z', 'in 2 hours', '2026-11-01T05:30:00.000Z'],
])('where clocks change in %s: at %s, %s is %s', (zone, now, phrase, instant) => {
  const { date, time } = readPhrase(phrase, new Date(now), zone) as { date: string; time: string }
  expect(instantOf(date, time, zone)?.toISOString()).toBe(instant)
})

test('a time that clocks show twice is known, and one they show once or never is not', () => {
  expect(isShownTwice('2026-10-25', '02:30', 'Europe/Berlin')).toBe(true)
  expect(isShownTwice('2026-10-25', '03:00', 'Europe/Berlin')).toBe(false)
  expect(isShownTwice('2027-03-28', '02:30', 'Europe/Berlin')).toBe(false)
  expect(isShownTwice('2026-11-01', '01:15', 'America/St_Johns')).toBe(true)
  expect(isShownTwice('', '', 'UTC')).toBe(false)
})

test('a time in full has its weekday and its zone', () => {
  expect(inFull(new Date('2026-11-27T16:30:00Z'), 'Europe/Berlin')).toBe(
    'Friday, 27 November 2026, 17:30 Europe/Berlin',
  )
})

test.each(['+275760-09-13', '-000001-01-01', '2026-W01', '2026-1-1', ''])('%j is no date of a form', (date) => {
  expect(instantOf(date, '00:00', 'America/New_York')).toBe(null)
})

test('the next hour is never one that is over, also while an hour is shown twice', () => {
  vi.useFakeTimers()
  const firstPass = Date.parse('2026-10-25T00:05:00Z') // 02:05 in Berlin, and 02:05 again an hour later
  for (let minutes = 0; minutes < 180; minutes += 5) {
    const now = firstPass + minutes * 60_000
    vi.setSystemTime(now)
    const { date, time } = nextHour('Europe/Berlin')
    const at = instantOf(date, time, 'Europe/Berlin')!.getTime()
    expect([minutes, at - now >= 10 * 60_000, at - now <= 130 * 60_000]).toEqual([minutes, true, true])
  }
  vi.useRealTimers()
})
