import { describe, expect, test } from 'vitest'
import type { Member } from '../../../app/api.ts'
import { askedIn, dateAfter, habitsOf, movedClock, rangeOf, timeOf, titleOf } from '../../../app/calendar/days.ts'

const person = (weekStart: number | null, clock: number | null) => ({ weekStart, clock }) as Member

describe('what the calendar shows', () => {
  test.each([
    ['month', '2031-03-12', 1, '2031-02-23T23:00:00.000Z', '2031-04-06T22:00:00.000Z'],
    ['month', '2031-03-12', 7, '2031-02-22T23:00:00.000Z', '2031-04-05T22:00:00.000Z'],
    [null, '2031-02-28', 1, '2031-01-26T23:00:00.000Z', '2031-03-02T23:00:00.000Z'],
    ['week', '2031-03-30', 1, '2031-03-23T23:00:00.000Z', '2031-03-30T22:00:00.000Z'],
    ['week', '2031-03-30', 6, '2031-03-28T23:00:00.000Z', '2031-04-04T22:00:00.000Z'],
    ['day', '2031-03-30', 1, '2031-03-29T23:00:00.000Z', '2031-03-30T22:00:00.000Z'],
  ] as const)('%s of %s, with weeks from day %i', (view, date, weekStart, from, to) => {
    const range = rangeOf(view, date, weekStart, 'Europe/Berlin')
    expect([range.from.toISOString(), range.to.toISOString()]).toEqual([from, to])
  })

  test('no month is longer than the 45 days that the server accepts', () => {
    for (let month = 0; month < 120; month++) {
      const date = dateAfter('month', '2026-01-01', month)
      for (const weekStart of [1, 6, 7]) {
        const { from, to } = rangeOf('month', date, weekStart, 'America/Santiago')
        expect(to.getTime() - from.getTime()).toBeLessThanOrEqual(45 * 86_400_000)
      }
    }
  })

  test.each([
    ['month', 'March 2031'],
    ['day', 'Monday 31 March 2031'],
    ['week', '31 March – 6 April 2031'],
  ] as const)('the %s has a title', (view, title) => {
    expect(titleOf(view, '2031-03-31', 1)).toBe(title)
  })

  test.each(['', '2031-02-30', '99999-01-01', '0001-01-01', "' or 1=1"])('the date %j is today instead', (date) => {
    expect(askedIn(new URLSearchParams({ date, view: 'year' }), '2026-11-24')).toEqual({
      view: null,
      date: '2026-11-24',
    })
  })
})

test('the account says how weeks and clocks are shown, and else the language of the browser does', () => {
  const english = { weekStart: 1, isTwelveHours: false }
  const american = { weekStart: 7, isTwelveHours: true }
  expect(habitsOf(person(null, null), 'en-GB,en;q=0.9')).toEqual(english)
  expect(habitsOf(person(null, null), 'en-US')).toEqual(american)
  expect(habitsOf(person(7, 12), 'de-DE')).toEqual(american)
  expect(habitsOf(person(1, 24), 'en-US')).toEqual(english)
  for (const nothing of [null, '', '*', '\u0000', 'x'.repeat(5000)])
    expect(habitsOf(person(null, null), nothing)).toEqual(english)
})

test('midnight and noon are written as people write them', () => {
  const american = { weekStart: 7, isTwelveHours: true }
  expect(timeOf('2031-03-12T23:00:00Z', 'Europe/Berlin', american)).toBe('12:00 AM')
  expect(timeOf('2031-03-12T11:00:00Z', 'Europe/Berlin', american)).toBe('12:00 PM')
})

test('a post moves on the clock, also over a change of the clocks and out of an hour that came twice', () => {
  const moved = (at: string, days: number, hours: number) =>
    movedClock(at, 'Europe/Berlin', { days, milliseconds: hours * 3_600_000 })
  expect(moved('2031-03-28T08:30:00Z', 3, 0)).toEqual({ date: '2031-03-31', time: '09:30' })
  expect(moved('2031-03-29T01:30:00Z', 1, 0)).toEqual({ date: '2031-03-30', time: '02:30' }) // is skipped there
  expect(moved('2031-10-26T01:30:00Z', -1, 1)).toEqual({ date: '2031-10-25', time: '03:30' })
})
