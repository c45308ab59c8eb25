import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { Dispatch, type NotClaimed } from '../../jobs/dispatch.ts'
import { until } from '../processes.ts'

/** A worker with one place, that another one is at `elsewhere` for as long as that is there. Each piece of work takes 2 ms. */
function aWorker(elsewhere: Set<string>) {
  const asked: string[] = []
  const left = new Map<string, number>()
  const dispatch = new Dispatch<{ id: string }>({
    concurrency: 1,
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
  const wake = (id: string, count: number) => {
    left.set(id, count)
    dispatch.wake(id, 'network')
  }
  return { asked, left, wake, dispatch }
}

test('what another worker is at is turned to when there is nothing else, and in its turn when it is woken again', async () => {
  const elsewhere = new Set(['theirs', 'woken'])
  const { asked, left, wake, dispatch } = aWorker(elsewhere)
  for (const id of ['theirs', 'woken']) wake(id, 1)
  wake('ours', 1000)
  await until(() => asked.includes('woken'))
  elsewhere.clear()
  await until(() => left.get('ours')! < 600) // after their rest
  expect([left.get('theirs'), left.get('woken')]).toEqual([1, 1])
  expect(dispatch.left().toSorted()).toEqual(['ours', 'theirs', 'woken'])
  wake('woken', 1)
  await until(() => left.get('woken') === 0)
  expect(left.get('ours')).toBeGreaterThan(0)
  expect(left.get('theirs')).toBe(1)
  await until(() => left.get('theirs') === 0)
  expect(left.get('ours')).toBe(0)
  await until(() => dispatch.left().length === 0)
})
