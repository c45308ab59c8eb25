import { pino } from 'pino'
import { expect, test } from 'vitest'
import { listen } from '../../db/client.ts'
import { alarm } from '../../jobs/alarm.ts'
import { Outage } from '../../jobs/outage.ts'
import { times } from '../../jobs/times.ts'
import { someDeliveries } from '../builders.ts'
import { until } from '../processes.ts'
import { world } from '../world.ts'

const log = pino({ level: 'silent' })

test('rings once for all that is past, and at the hour of what comes', async () => {
  const w = await world()
  const channelId = await w.channel('readable')
  const due = (ms: number) => ({ organisationId: w.organisationId, channelId, dueAt: new Date(Date.now() + ms) })
  const rings: number[] = []
  await someDeliveries(
    w.db,
    Array.from({ length: 100 }, (_, i) => due(-1000 - i)),
  )
  const next = due(1500)
  await someDeliveries(w.db, [next])
  const listening = await listen(w.site.databaseUrl, 'jobs:insert', () => rings.push(Date.now()))
  rings.length = 0 // it is called once when it begins to listen

  const halt = new AbortController()
  const ended = alarm(w.site.databaseUrl, { times, log, outage: new Outage(log) }, halt.signal)
  await until(() => rings.some((at) => at >= next.dueAt.getTime()))

  expect(rings).toHaveLength(2)
  halt.abort()
  await Promise.all([ended, listening.end()])
  await w.end()
})
