import type { Request, Response } from 'express'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Answering } from '../../../db/prober.ts'
import { limitDatabaseWait } from '../../../server/web/waiting.ts'

const refuse = vi.fn()
const database = { state: 'yes' as Answering, answeredAt: 0 }
const bound = () => limitDatabaseWait({ answers: () => database.state, answeredAt: () => database.answeredAt }, refuse)
const req = { complete: true } as Request
const res = { headersSent: false, once: () => {} } as unknown as Response

beforeEach(() => {
  vi.useFakeTimers()
  refuse.mockClear()
  Object.assign(database, { state: 'yes', answeredAt: performance.now() })
})
afterEach(() => vi.useRealTimers())

test('a request that the database lets wait is refused within 4 s of its last answer', () => {
  bound()(req, res, () => {})
  vi.advanceTimersByTime(2500)
  database.state = 'silent'
  vi.advanceTimersByTime(400)
  expect(refuse).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1100)
  expect(refuse).toHaveBeenCalledOnce()
})

test('one that waits for something else for a minute has 3 s like any other when the database goes away', () => {
  bound()(req, res, () => {})
  vi.advanceTimersByTime(60_000)
  Object.assign(database, { state: 'unreachable', answeredAt: performance.now() })
  vi.advanceTimersByTime(2500)
  expect(refuse).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1500)
  expect(refuse).toHaveBeenCalledOnce()
})

test('what comes while it is silent is refused at once', () => {
  database.state = 'silent'
  const next = vi.fn()
  bound()(req, res, next)
  expect([refuse.mock.calls.length, next.mock.calls.length]).toEqual([1, 0])
})
