import { expect, test, vi } from 'vitest'
import { limitPerOrganisation } from '../../../server/access/concurrency.ts'

/** Work that says when it begins and ends when it is told to. */
function work() {
  const began: string[] = []
  const ends = new Map<string, () => void>()
  const piece = (name: string) => () =>
    new Promise<void>((end) => {
      began.push(name)
      ends.set(name, end)
    })
  const settled = () => new Promise((done) => setImmediate(done))
  const end = async (name: string) => {
    await settled()
    ends.get(name)!()
    await settled()
  }
  return { began, piece, end, settled }
}

test('an organisation has one place at a time, however many there are, and the next goes to who waits longest', async () => {
  const { began, piece, end, settled } = work()
  const inTurn = limitPerOrganisation({ atOnce: 2, waitingAtMost: 20, of: 'files' })
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void inTurn(name[0]!, piece(name))
  await settled()
  expect(began).toEqual(['a1', 'b1'])
  await end('b1')
  expect(began).toEqual(['a1', 'b1', 'c1'])
  await end('a1')
  expect(began).toEqual(['a1', 'b1', 'c1', 'b2'])
  await end('c1')
  expect(began).toEqual(['a1', 'b1', 'c1', 'b2', 'a2'])
})

test('an organisation that may have two places has two at most, and all together have no more than there are', async () => {
  const { began, piece, end, settled } = work()
  const inTurn = limitPerOrganisation({ atOnce: 3, each: 2, waitingAtMost: 20, of: 'searches' })
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void inTurn(name[0]!, piece(name))
  await settled()
  expect(began).toEqual(['a1', 'a2', 'b1'])
  await end('a1')
  expect(began).toEqual(['a1', 'a2', 'b1', 'b2'])
  await end('a2')
  expect(began).toEqual(['a1', 'a2', 'b1', 'b2', 'c1'])
  await end('b1')
  expect(began).toEqual(['a1', 'a2', 'b1', 'b2', 'c1', 'a3'])
})

test('past the limit an organisation gets a Retry-After, and others go on', async () => {
  const { began, piece, end } = work()
  const inTurn = limitPerOrganisation({ atOnce: 1, waitingAtMost: 2, of: 'files' })
  for (const name of ['a1', 'a2', 'a3']) void inTurn('a', piece(name))
  await expect(inTurn('a', piece('a4'))).rejects.toMatchObject({ failure: 'rate_limited', retryAfterSeconds: 10 })
  void inTurn('b', piece('b1'))
  await end('a1')
  await end('b1')
  expect(began).toEqual(['a1', 'b1', 'a2'])
})

test('work that fails gives its place on', async () => {
  const { began, piece, end } = work()
  const inTurn = limitPerOrganisation({ atOnce: 1, waitingAtMost: 2, of: 'files' })
  const failed = inTurn('a', () => Promise.reject(new Error('no')))
  const next = inTurn('b', piece('b1'))
  await expect(failed).rejects.toThrow('no')
  await vi.waitFor(() => expect(began).toEqual(['b1']))
  await end('b1')
  await next
})
