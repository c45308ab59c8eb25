import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Beside, callApi, openBeside, webWithChannel } from '../web.ts'
import { aQueue, inQueue, queuePost } from './queue-calls.ts'

const w = webWithChannel()
let beside: Beside
let queueId: string
beforeAll(async () => {
  beside = await openBeside(w)
  queueId = (await aQueue(w, { timeZone: 'America/St_Johns' })).id
  for (let i = 0; i < 3; i++) await queuePost(w)
})
afterAll(() => beside.end())

const Takers = 200
const AtMostMs = 60_000 // some seconds, but on a machine that does much else

test('200 posts that go into one queue at once through two web processes get 200 different times, each in bounded time', async () => {
  const { json: next } = await w.call('GET', `/queues/${queueId}/next?limit=100`)

  const answers = await Promise.all(
    Array.from({ length: Takers }, async (_, i) => {
      const start = performance.now()
      const json = inQueue({ channelIds: [w.channelId], content: `post ${i}` })
      const { appUrl } = i % 2 === 0 ? w.site : beside.site
      const answer = await callApi(appUrl, 'POST', '/posts', { key: w.key, json })
      return { ...answer, ms: performance.now() - start }
    }),
  )

  const slowest = Math.round(Math.max(...answers.map(({ ms }) => ms)))
  process.stdout.write(`${Takers} takers over two web processes: the slowest took ${slowest} ms\n`)
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  const dates = answers.map(({ json }) => json.date as string)
  expect(new Set(dates).size).toBe(Takers)
  expect(dates.toSorted().slice(0, 100)).toEqual(next.dates) // no time is left out
  expect(slowest).toBeLessThan(AtMostMs)
})

test('the database itself refuses two posts of a queue at one time, and takes the time of a cancelled post again', async () => {
  const [one, other] = await w.db.execute<{ id: string; date: string }>(
    sql`select id, date from posts where queue_id is not null order by date limit 2`,
  )
  const move = () =>
    w.db.execute(sql`update posts set date = ${one!.date}, queue_date = ${one!.date} where id = ${other!.id}`)
  await expect(move()).rejects.toMatchObject({ cause: { code: '23505', constraint_name: 'posts_queue_time' } })
  await w.call('DELETE', `/posts/${one!.id}`)
  await move()
})

test('a date that a process of the previous version writes takes a post out of its queue', async () => {
  const [one, other] = await w.db.execute<{ id: string; date: string }>(
    sql`select id, date from posts where queue_id is not null and told = 'SCHEDULED' order by date desc limit 2`,
  )
  await w.db.execute(sql`update posts set date = ${one!.date} where id = ${other!.id}`)
  expect((await w.call('GET', `/posts/${other!.id}`)).json.queueId).toBeNull()
})

test('a post without a queue asks the database nothing about queues', async () => {
  const rename = async (from: string, to: string) => {
    for (const table of ['queues', 'queue_channels'])
      await w.db.execute(sql.raw(`alter table ${table}${from} rename to ${table}${to}`))
  }
  await rename('', '_away') // what names them fails
  const date = new Date(Date.now() + 3_600_000)
  const plain = { content: 'x', channelIds: [w.channelId] }
  const made = await w.call('POST', '/posts', { json: { ...plain, type: 'schedule', date } })
  const asked = [
    made,
    await w.call('PATCH', `/posts/${made.json.id}`, { json: { content: 'y' } }),
    await w.call('POST', '/posts/validate', { json: { ...plain, type: 'now' } }),
    await w.call('GET', '/posts?limit=1'),
    await w.call('DELETE', `/posts/${made.json.id}`),
  ]
  const queued = await w.call('POST', '/posts', { json: inQueue(plain) })
  await rename('_away', '')
  expect(asked.map(({ status }) => status)).toEqual([201, 200, 200, 200, 204])
  expect(queued.status).toBe(500)
})
