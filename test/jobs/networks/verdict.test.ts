import { expect, test } from 'vitest'
import { plainReason, recordOf, retryAtOf, WebAddress } from '../../../jobs/networks/verdict.ts'
import type { Answer } from '../../../jobs/outbound/outbound.ts'

const now = new Date('2026-11-21T10:00:00Z')

test.each([
  [{ 'retry-after': '120' }, '2026-11-21T10:02:00.000Z'],
  [{ 'retry-after': ' 120 ' }, '2026-11-21T10:02:00.000Z'],
  [{ 'retry-after': 'Sat, 21 Nov 2026 10:05:00 GMT' }, '2026-11-21T10:05:00.000Z'],
  [{ 'retry-after': 'Saturday, 21-Nov-26 10:05:00 GMT' }, '2026-11-21T10:05:00.000Z'],
  [{ 'x-ratelimit-reset': '2026-11-21T10:05:00.123456Z' }, '2026-11-21T10:05:00.123Z'],
  [{ 'ratelimit-reset': String(Date.parse('2026-11-21T10:05:00Z') / 1000) }, '2026-11-21T10:05:00.000Z'],
  [{ 'x-ratelimit-reset': String(Date.parse('2026-11-21T10:05:00Z') / 1000) }, '2026-11-21T10:05:00.000Z'],
  [{ 'x-ratelimit-reset': ` ${Date.parse('2026-11-21T10:05:00Z') / 1000}.250 ` }, '2026-11-21T10:05:00.250Z'],
  [{ 'x-ratelimit-reset': String(Date.parse('2026-11-21T10:05:00.500Z')) }, '2026-11-21T10:05:00.500Z'],
  [{ 'x-ratelimit-reset': '300' }, '2026-11-21T10:05:00.000Z'],
  [{ 'ratelimit-reset': '2026-11-21T10:05:00Z' }, '2026-11-21T10:05:00.000Z'],
  [{ 'x-ratelimit-reset': '9999999999' }, '2026-11-28T10:00:00.000Z'],
  [{ 'retry-after': '5', 'x-ratelimit-reset': '2026-11-21T11:00:00Z' }, '2026-11-21T10:00:05.000Z'],
  [{ 'retry-after': '99999999999999999999' }, '2026-11-28T10:00:00.000Z'],
  [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, '2026-11-28T10:00:00.000Z'],
])('%j is %s', (headers, at) => {
  expect(retryAtOf(headers, now)?.toISOString()).toBe(at)
})

test.each([
  '',
  '0',
  '-5',
  '1.5',
  '1e9',
  'soon',
  'Sat, 21 Nov 2026 09:59:59 GMT',
  '5 minutes',
  'Sat, 99 Nov',
  '2026-11-21',
])('Retry-After %j is not a time in the future', (header) => {
  expect(retryAtOf({ 'retry-after': header }, now)).toBeNull()
})

test.each(['', '0', '-5', '1e9', 'soon', '1700000000', '1700000000000', '12345678901234567890', '5 minutes'])(
  'X-RateLimit-Reset %j is not a time in the future',
  (header) => {
    expect(retryAtOf({ 'x-ratelimit-reset': header }, now)).toBeNull()
  },
)

test.each([
  ['seconds', '1795258830'],
  ['milliseconds', '1795258830000'],
  ['an ISO instant', '2026-11-21T11:00:30Z'],
])('a reset in %s is read by the clock of the server that wrote it', (_, reset) => {
  const headers = { date: 'Sat, 21 Nov 2026 11:00:00 GMT', 'x-ratelimit-reset': reset }
  expect(retryAtOf(headers, now)?.toISOString()).toBe('2026-11-21T10:00:30.000Z')
})

test('a date is read by the clock of the server that wrote it', () => {
  const headers = { date: 'Sat, 21 Nov 2026 11:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 11:00:30 GMT' }
  expect(retryAtOf(headers, now)?.toISOString()).toBe('2026-11-21T10:00:30.000Z')
})

test("a network's own message is shown as plain text, on one line and cut", () => {
  expect(plainReason(' <p>Too\n\tlong\0</p> ')).toBe('Too long')
  expect(plainReason('x'.repeat(1000))).toHaveLength(300)
})

// PostgreSQL takes no half of a character in JSON: the failure could not be written down.
test('nothing that is cut ends in half a character', () => {
  for (const start of ['', 'x']) {
    const long = start + '🎉'.repeat(2000)
    const answer = { status: 422, headers: new Headers(), text: () => long } as unknown as Answer
    for (const cut of [plainReason(long), recordOf(answer, []).reply]) expect(cut.isWellFormed()).toBe(true)
  }
})

test.each([
  ['https://x.test/@ada', 'https://x.test/@ada'],
  ['HTTP://X.test', 'http://x.test/'],
  ['https://x.test/\0\ud800', 'https://x.test/%00%EF%BF%BD'],
  ['javascript:alert(1)', null],
  [' javascript://x.test/%0aalert(1)', null],
  ['data:text/html,x', null],
  ['/@ada', null],
  [7, null],
  [null, null],
  [undefined, null],
])('the link %j from a network becomes %j', (given, shown) => {
  expect(WebAddress.parse(given)).toBe(shown)
})

test('a link from a network that is too long is dropped', () => {
  expect(WebAddress.parse(`https://x.test/${'x'.repeat(2000)}`)).toBeNull()
})
