import { pino } from 'pino'
import { expect, test } from 'vitest'
import { listen } from '../../../db/client.ts'
import { Outage } from '../../../jobs/monitoring/outage.ts'
import { alarm } from '../../../jobs/publish/alarm.ts'
import type { Waiting } from '../../../jobs/publish/dispatch.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { world } from '../../world.ts'

const log = pino({ level: 'silent' })

/** A world with one channel, the alarm, and the times when it rang. */
async function rung(onDue: (channel: Waiting) => boolean, dueInMs: number[]) {
  const w = await world()
  const channelId = await w.channel('readable')
  const now = Date.now()
  await someDeliveries(
    w.db,
    dueInMs.map((ms) => ({ organisationId: w.organisationId, channelId, dueAt: new Date(now + ms) })),
  )
  const rings: number[] = []
  const listening = await listen(w.site.databaseUrl, 'jobs:insert', () => rings.push(Date.now() - now))
  rings.length = 0 // the listener is called once when it begins
  const halt = new AbortController()
  const ended = alarm(w.site.databaseUrl, { times, log, outage: new Outage(log), onDue }, halt.signal)
  const end = async () => {
    halt.abort()
    await Promise.all([ended, listening.end()])
    await w.end()
  }
  return { rings, channelId, end }
}

test('rings once for all overdue deliveries, and at the due time of later ones', async () => {
  const past = Array.from({ length: 100 }, (_, i) => -1000 - i)
  const { rings, end } = await rung(() => false, [...past, 5000])
  await until(() => rings.some((ms) => ms >= 5000))
  expect(rings).toHaveLength(2)
  await end()
})

test('does not ring for a delivery that its own worker handles at its due time, unless another is due then too', async () => {
  const heard: string[] = []
  const turnTo = ({ id, network }: Waiting) => heard.push(`${network} ${id}`) > 0
  const { rings, channelId, end } = await rung(turnTo, [5000, 8000, 11_000, 11_000])
  await until(() => rings.length > 0)
  expect(rings[0]).toBeGreaterThanOrEqual(11_000)
  expect(heard).toEqual(Array(3).fill(`readable ${channelId}`))
  await end()
})
