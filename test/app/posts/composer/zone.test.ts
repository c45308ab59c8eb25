import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clockAt, offsetAt } from '../../../../app/ui/time/time-zone.ts'
import { instantOf } from '../../../../jobs/wall-clock.ts'

test.each([
  ['an ordinary hour', '2026-07-01', '09:00', 'Europe/Berlin', '2026-07-01T07:00:00.000Z'],
  ['a gap: the first instant after it', '2026-03-29', '02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
  ['a gap in the west', '2026-03-08', '02:30', 'America/New_York', '2026-03-08T07:00:00.000Z'],
  ['a gap at midnight', '2026-03-29', '00:00', 'Asia/Beirut', '2026-03-28T22:00:00.000Z'],
  ['a gap of half an hour', '2026-10-04', '02:15', 'Australia/Lord_Howe', '2026-10-03T15:30:00.000Z'],
  ['a day that an island skipped', '2011-12-30', '12:00', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
  ['an overlap: the earlier', '2026-10-25', '02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
  ['an overlap in the west', '2026-11-01', '01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
  ['an overlap of half an hour', '2026-04-05', '01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
])('%s', (_what, date, time, zone, instant) => {
  expect(instantOf(date, time, zone)?.toISOString()).toBe(instant)
})

test('what a clock shows comes back as itself, in every zone and at every minute that it shows once', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
  const minutes = fc.integer({ min: Date.UTC(2000, 0) / 60_000, max: Date.UTC(2035, 0) / 60_000 })
  fc.assert(
    fc.property(zones, minutes, (zone, minute) => {
      const shown = clockAt(new Date(minute * 60_000), zone)
      const instant = instantOf(shown.date, shown.time, zone)!
      expect(clockAt(instant, zone)).toEqual(shown)
      expect(instant.getTime()).toBeLessThanOrEqual(minute * 60_000) // the earlier, where it is shown twice
    }),
    { numRuns: 2000 },
  )
})

test.each(['', '2026-02-30', '2026-13-01'])('there is no day %j', (date) => {
  expect(instantOf(date, '09:00', 'UTC')).toBeNull()
})

test('an offset is written as people write it', () => {
  expect(offsetAt(new Date('2026-07-01T00:00:00Z'), 'Asia/Kathmandu')).toBe('UTC+05:45')
})
