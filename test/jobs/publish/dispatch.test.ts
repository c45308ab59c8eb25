import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { NotClaimed } from '../../../jobs/ledger/claim.ts'
import { Dispatch } from '../../../jobs/publish/dispatch.ts'
import { until } from '../../processes.ts'

/** A worker; another worker holds the channels in `elsewhere`. Each piece of work takes 2 ms. */
function aWorker(elsewhere: Set<string>, concurrency = 1) {
  const asked: string[] = [] // one for each place given
  const left = new Map<string, number>()
  const dispatch = new Dispatch<{ id: string }>({
    concurrency,
    claim: async (ids) => {
      asked.push(...ids)
      const claimOf = (id: string): { id: string } | NotClaimed => {
        if (elsewhere.has(id)) return 'elsewhere'
        return left.get(id) ? { id } : 'nothing'
      }
      return new Map(ids.map((id) => [id, claimOf(id)]))
    },
    perform: async ({ id }) => {
      left.set(id, left.get(id)! - 1)
      await sleep(2)
    },
    log: pino({ level: 'silent' }),
  })
  const wake = (id: string, count: number, network = 'network') => {
    left.set(id, count)
    dispatch.wake(id, network)
  }
  return { asked, left, wake, dispatch }
}

test('a channel that another worker holds gets one place in forty while there is other work, and its turn when it is woken', async () => {
  const elsewhere = new Set(['theirs'])
  const { asked, left, wake, dispatch } = aWorker(elsewhere)
  wake('theirs', 1)
  wake('ours', 2000)
  await until(() => asked.filter((id) => id === 'theirs').length > 4)
  const [, ...places] = asked.flatMap((id, i) => (id === 'theirs' ? [i + 1] : []))
  expect(places.map((place) => place % 40)).toEqual(places.map(() => 0))
  expect(dispatch.left().toSorted()).toEqual(['ours', 'theirs'])
  elsewhere.clear()
  wake('theirs', 1)
  const place = asked.length
  await until(() => left.get('theirs') === 0)
  expect(asked.indexOf('theirs', place) - place).toBeLessThan(2)
  expect(left.get('ours')).toBeGreaterThan(0)
  await until(() => dispatch.left().length === 0)
  expect(left.get('ours')).toBe(0)
})

test('a worker takes as many offers as it has places, and at most half of them for one network', async () => {
  const { dispatch, asked, left } = aWorker(new Set(), 4)
  const all = ['a', 'b'].flatMap((network) => Array.from({ length: 10 }, (_, i) => ({ id: `${network}${i}`, network })))
  for (const { id } of all) left.set(id, 1)
  expect(dispatch.places()).toBe(4)
  expect(dispatch.offer(all)).toBe(4)
  expect(dispatch.offer(all)).toBe(0)
  await until(() => dispatch.left().length === 0)
  expect([...new Set(asked)].toSorted()).toEqual(['a0', 'a1', 'b0', 'b1'])
  await dispatch.close()
  expect(dispatch.places()).toBe(0)
})

test('when there are fewer places than networks, each gets its turn', async () => {
  const { left, wake, dispatch } = aWorker(new Set())
  const names = ['one', 'two', 'three']
  for (const name of names) wake(name, 20, name)
  await until(() => left.get('one')! < 10)
  for (const name of names) expect(left.get(name), name).toBeLessThan(14)
  await until(() => dispatch.left().length === 0)
})
