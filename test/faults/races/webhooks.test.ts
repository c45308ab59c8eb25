import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { aKeyOfAllScopes, anOrganisation } from '../../builders.ts'
import { webWithReceiver } from '../../jobs/webhooks/listening.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'

const t = webWithReceiver()

test('deleting a webhook while a post is made does not stop the post', async () => {
  const { id } = await t.webhook()
  const json = { type: 'draft', content: 'x', channelIds: [] }
  let made: ReturnType<typeof t.w.call> | undefined
  await t.w.db.transaction(async (tx) => {
    await tx.execute(sql`delete from webhooks where id = ${id}`)
    made = t.w.call('POST', '/posts', { json })
    await until(() => someoneWaits(t.w.db))
  })
  expect((await made!).status).toBe(201)
})

test('the result of a call is recorded while another transaction switches the webhook off, without a deadlock', async () => {
  const worker = await t.worker()
  const { id } = await t.webhook({ events: ['post.created'] })
  let answer = () => {}
  t.receiver.answer = (_told, res) => {
    answer = () => void res.writeHead(500).end()
  }
  await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length === 1)

  await t.w.db.transaction(async (tx) => {
    await tx.execute(sql`select from webhooks where id = ${id} for no key update`)
    answer()
    await until(() => someoneWaits(t.w.db))
    await tx.execute(sql`update webhook_deliveries set lease_until = lease_until where webhook_id = ${id}`)
  })

  await until(async () => (await t.log(id))[0].attempts.length === 1)
  expect(worker.log()).not.toContain('turn failed')
})

test('an answer from the old address does not switch the new one off', async () => {
  await t.worker()
  const { id } = await t.webhook({ events: ['post.created'] })
  let answer = () => {}
  t.receiver.answer = ({ path }, res) => {
    answer = () => void res.writeHead(path === '/hook' ? 410 : 204).end()
    if (path !== '/hook') answer()
  }
  await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length === 1)
  const url = `${t.receiver.url}/new`
  expect((await t.w.call('PATCH', `/webhooks/${id}`, { json: { url } })).status).toBe(200)

  answer()

  await until(() => t.receiver.told.some(({ path }) => path === '/hook/new'))
  expect((await t.w.call('GET', `/webhooks/${id}`)).json).toMatchObject({ status: 'ACTIVE', failingSince: null })
})

test('a call that is requested again while one fails is made once more, at once', async () => {
  await t.worker({ timesFactor: 1 })
  const { id } = await t.webhook({ events: ['post.created'] })
  let fail = () => {}
  t.receiver.answer = (_told, res) => {
    fail = () => void res.writeHead(500).end()
  }
  await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length === 1)
  const [{ id: deliveryId }] = await t.log(id)
  const resent = await t.w.call('POST', `/webhooks/${id}/deliveries/${deliveryId}/resend`)

  fail()

  const [sent] = await until(async () => {
    const all = await t.log(id)
    return all[0].attempts.length === 1 && all
  })
  expect(sent).toMatchObject({ status: 'PENDING', nextAttemptAt: resent.json.nextAttemptAt })
  await until(() => t.receiver.told.length === 2)
  fail()
})

test('a call counts as received once its status is there, even if the answer never ends', async () => {
  await t.worker({ timesFactor: 1 })
  const { id } = await t.webhook({ events: ['post.created'] })
  t.receiver.answer = (_told, res) => res.writeHead(200).write('thank')
  await t.post({ type: 'draft', channelIds: [] })
  const [sent] = await until(async () => {
    const all = await t.log(id)
    return all[0]?.status === 'DELIVERED' && all
  })
  expect(sent.attempts).toMatchObject([{ status: 200, reply: 'thank', error: null }])
  expect(sent.attempts[0].durationMs).toBeLessThan(9000)
})

test('an organisation with many slow receivers leaves places for others', async () => {
  await t.worker({ timesFactor: 1 })
  t.receiver.answer = ({ path }, res) => path === '/hook' && res.writeHead(204).end()
  for (let i = 0; i < 12; i++) await t.webhook({ url: `${t.receiver.url}/slow/${i}`, events: ['post.created'] })
  await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length === 3) // the number of places for one organisation

  const other = await anOrganisation(t.w.db)
  const key = await aKeyOfAllScopes(t.w.db, other)
  await t.w.call('POST', '/webhooks', { key, json: { url: t.receiver.url } })
  await t.w.call('POST', '/posts', { key, json: { type: 'draft', content: 'theirs', channelIds: [] } })

  await until(() => t.receiver.told.some(({ path }) => path === '/hook'))
  expect(t.receiver.told.filter(({ path }) => path !== '/hook')).toHaveLength(3)
})
