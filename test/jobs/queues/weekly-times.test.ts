import fc from 'fast-check'
import { DateTime, IANAZone } from 'luxon'
import { expect, test } from 'vitest'
import { nextTimes } from '../../../jobs/queues/weekly-times.ts'

const daily = (...times: string[]) =>
  [1, 2, 3, 4, 5, 6, 7].flatMap((weekday) => times.map((time) => ({ weekday, time })))

function next(timeZone: string, times: string[], after: string, count: number): string[] {
  return nextTimes({ timeZone, times: daily(...times) }, new Date(after), count).map((date) => date.toISOString())
}

test.each([
  // A time that the clocks skip is the first instant after it, and the times around it keep their wall clock.
  [
    'Europe/Berlin in spring',
    ...['Europe/Berlin', '2026-03-28T12:00:00Z', ['02:30', '09:00']],
    ['2026-03-29T01:00:00.000Z', '2026-03-29T07:00:00.000Z', '2026-03-30T00:30:00.000Z', '2026-03-30T07:00:00.000Z'],
  ],
  // A time that they show twice counts once: the earlier one.
  [
    'Europe/Berlin in autumn',
    ...['Europe/Berlin', '2026-10-24T12:00:00Z', ['02:30', '09:00']],
    ['2026-10-25T00:30:00.000Z', '2026-10-25T08:00:00.000Z', '2026-10-26T01:30:00.000Z', '2026-10-26T08:00:00.000Z'],
  ],
  [
    'America/St_Johns in spring',
    ...['America/St_Johns', '2026-03-07T20:00:00Z', ['02:30', '09:00']],
    ['2026-03-08T05:30:00.000Z', '2026-03-08T11:30:00.000Z', '2026-03-09T05:00:00.000Z', '2026-03-09T11:30:00.000Z'],
  ],
  [
    'America/St_Johns in autumn',
    ...['America/St_Johns', '2026-10-31T20:00:00Z', ['01:30', '09:00']],
    ['2026-11-01T04:00:00.000Z', '2026-11-01T12:30:00.000Z', '2026-11-02T05:00:00.000Z', '2026-11-02T12:30:00.000Z'],
  ],
] as [string, string, string, string[], string[]][])(
  'the times of a queue in %s keep the wall clock',
  (_, zone, after, times, expected) => {
    expect(next(zone, times, after, 4)).toEqual(expected)
  },
)

test('times that the clocks skip to one instant count once, also with a time that is there', () => {
  const times = ['02:00', '02:30', '02:59', '03:00', '03:01']
  expect(next('Europe/Berlin', times, '2026-03-28T23:30:00Z', 3)).toEqual([
    '2026-03-29T01:00:00.000Z',
    '2026-03-29T01:01:00.000Z',
    '2026-03-30T00:00:00.000Z',
  ])
})

test('a time that the clocks show twice is not repeated when the queue is asked between the two', () => {
  expect(next('Europe/Berlin', ['02:30'], '2026-10-25T00:45:00Z', 1)).toEqual(['2026-10-26T01:30:00.000Z'])
})

test('a day that a zone skips at midnight gives the first instant of the next day', () => {
  // Havana's clocks skip from 00:00 to 01:00.
  expect(next('America/Havana', ['00:30'], '2026-03-07T12:00:00Z', 2)).toEqual([
    '2026-03-08T05:00:00.000Z',
    '2026-03-09T04:30:00.000Z',
  ])
})

test('a queue without times has no next time', () => {
  expect(nextTimes({ timeZone: 'UTC', times: [] }, new Date(), 3)).toEqual([])
})

test('taken times are left out, and there are none after five years', () => {
  const after = new Date('2026-11-24T12:00:00Z')
  const weekly = { timeZone: 'UTC', times: [{ weekday: 5, time: '17:30' }] }
  const taken = new Set([Date.parse('2026-11-27T17:30:00Z')])
  expect(nextTimes(weekly, after, 1, taken)).toEqual([new Date('2026-12-04T17:30:00Z')])
  const all = nextTimes(weekly, after, 1_000)
  expect(all).toHaveLength(261)
  expect(all.at(-1)).toEqual(new Date('2031-11-21T17:30:00Z'))
})

const zones = [
  'Europe/Berlin',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'America/Havana',
  'Asia/Kathmandu',
  'Pacific/Chatham',
  'UTC',
]
const aTime = fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 1439 })).map(([weekday, minute]) => ({
  weekday,
  time: `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`,
}))
const somewhen = fc.date({ min: new Date('2024-01-01'), max: new Date('2036-01-01'), noInvalidDate: true })

test('for any zone, times and instant, the next times strictly increase, are in the future and show the wall clock', () => {
  const plan = fc.record({
    timeZone: fc.constantFrom(...zones),
    times: fc.uniqueArray(aTime, {
      minLength: 1,
      maxLength: 20,
      selector: ({ weekday, time }) => `${weekday} ${time}`,
    }),
  })
  fc.assert(
    fc.property(plan, somewhen, (queue, after) => {
      const next = nextTimes(queue, after, 40)
      expect(next).toHaveLength(40)
      let before = after
      for (const date of next) {
        expect(date > before).toBe(true)
        before = date
        const clock = DateTime.fromJSDate(date, { zone: queue.timeZone })
        const isShown = queue.times.some(
          ({ weekday, time }) => weekday === clock.weekday && time === clock.toFormat('HH:mm'),
        )
        if (!isShown) expect(isFirstAfterGap(date, queue.timeZone)).toBe(true)
      }
    }),
    { numRuns: 300 },
  )
})

/** The clocks of `zone` jump ahead at this instant. */
function isFirstAfterGap(date: Date, zone: string): boolean {
  const clock = IANAZone.create(zone)
  return clock.offset(date.getTime() - 1) < clock.offset(date.getTime())
}
