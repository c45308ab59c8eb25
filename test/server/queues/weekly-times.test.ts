import { afterAll, beforeAll, expect, test } from 'vitest'
import { aBrowser } from '../browser.ts'
import { aHouse, type House, Password } from '../house.ts'
import { openWeb, type Web } from '../web.ts'

// The forms of a queue's page that add and remove single times.

let w: Web
let house: House
let browser: ReturnType<typeof aBrowser>
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
  house = await aHouse(w)
  browser = aBrowser(w.site.appUrl)
  await browser.post('/login', { email: house.member.email, password: Password })
})
afterAll(() => w.end())

type Times = { weekday: number; time: string }[]

async function aQueue(times: Times) {
  const channelIds = [await w.channel(house.organisationId)]
  const json = { name: channelIds[0], timeZone: 'UTC', times, channelIds }
  const { id } = (await w.call('POST', '/queues', { key: house.key, json })).json
  const read = async () => (await w.call('GET', `/queues/${id}`, { key: house.key })).json.times as Times
  const send = (form: Record<string, string>) => browser.post(`/queues/${id}`, form)
  return {
    read,
    add: (weekday: number, time: string) => send({ intent: 'add-time', weekday: String(weekday), time }),
    remove: (weekday: number, time: string) => send({ intent: 'remove-time', time: `${weekday} ${time}` }),
  }
}

test('times that are added at once are all added', async () => {
  const queue = await aQueue([{ weekday: 1, time: '09:00' }])
  const hours = Array.from({ length: 10 }, (_, n) => `${String(n + 10)}:30`)
  const answers = await Promise.all(hours.map((time) => queue.add(2, time)))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(302))
  expect(await queue.read()).toEqual([{ weekday: 1, time: '09:00' }, ...hours.map((time) => ({ weekday: 2, time }))])
})

test('times that are removed at once, while others are added, are all removed', async () => {
  const old = [1, 2, 3, 4, 5].map((weekday) => ({ weekday, time: '09:00' }))
  const queue = await aQueue(old)
  await Promise.all([
    ...old.map(({ weekday, time }) => queue.remove(weekday, time)),
    ...[1, 2, 3].map((weekday) => queue.add(weekday, '10:00')),
  ])
  expect(await queue.read()).toEqual([1, 2, 3].map((weekday) => ({ weekday, time: '10:00' })))
  expect((await queue.remove(7, '09:00')).status).toBe(302) // somebody else has removed it
})

test('a time that the queue has is refused with a sentence', async () => {
  const queue = await aQueue([{ weekday: 1, time: '09:00' }])
  const refused = await queue.add(1, '09:00')
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('Mon 09:00 is already a time of this queue.')
  expect(await queue.read()).toHaveLength(1)
})

test('a 201st time and a time that no clock shows are refused', async () => {
  const all = Array.from({ length: 200 }, (_, n) => ({
    weekday: (n % 7) + 1,
    time: `${String(Math.floor(n / 7) % 24).padStart(2, '0')}:${n < 168 ? '00' : '30'}`,
  }))
  const queue = await aQueue(all)
  const refused = await queue.add(1, '23:59')
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('At most 200 times.')
  expect((await queue.add(8, '09:00')).status).toBe(400)
  expect((await queue.add(1, '24:00')).text).toContain('Must be a time such as 09:30.')
  expect(await queue.read()).toHaveLength(200)
})
