import { sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { accounts } from '../../../db/schema/accounts.ts'
import { mails } from '../../../db/schema/mail.ts'
import { mailAccount } from '../../../jobs/mail/outbox.ts'
import { aDelivery } from '../../builders.ts'
import { until } from '../../processes.ts'
import { aBrowser } from '../../server/browser.ts'
import { Password } from '../../server/house.ts'
import { untilPublished } from '../../world.ts'
import { webWithMail } from './post-office.ts'

const t = webWithMail({ MAIL_FROM: 'Works <mail@works.example>' })
beforeAll(() => t.w.db.update(accounts).set({ emailVerifiedAt: sql`now()` })) // others get no such mail
const write = () => t.w.db.transaction((tx) => mailAccount(tx, t.w.accountId, 'password_changed'))
const ended = () => until(async () => (await t.rows()).every(({ state }) => state !== 'pending'))

test('a mail is sent once, with both parts and the headers of an automatic mail, and its content is erased', async () => {
  await t.worker()

  await write()

  const [mail] = await until(() => t.server.arrived.length > 0 && t.server.arrived)
  await ended()
  const [row] = await t.rows()
  expect(mail).toMatchObject({
    ...{ to: [t.email], from: 'mail@works.example' },
    headers: {
      'message-id': `<${row!.id}@works.example>`,
      'auto-submitted': 'auto-generated',
      from: 'Works <mail@works.example>',
      to: t.email,
      subject: 'Your password was changed',
    },
  })
  expect(mail!.raw).toContain('Content-Type: text/html')
  expect(mail!.body).toContain(`${t.w.site.appUrl}/forgot`)
  expect(row).toMatchObject({ state: 'sent', content: null, attemptNo: 1, failure: null })
  expect(t.server.arrived).toHaveLength(1)
})

test('a mail whose transaction is rolled back is not sent', async () => {
  await t.worker()
  const failing = t.w.db.transaction(async (tx) => {
    await mailAccount(tx, t.w.accountId, 'password_changed')
    throw new Error('rolled back')
  })
  await expect(failing).rejects.toThrow('rolled back')

  await write()

  await until(() => t.server.arrived.length > 0)
  await ended()
  expect(t.server.arrived).toHaveLength(1)
})

test('a mail server that is down gets the mail when it is up again, as the same message', async () => {
  await t.server.down()
  await t.worker()
  await write()
  await until(async () => (await t.rows())[0]?.failure)
  const [failed] = await t.rows()
  expect(failed).toMatchObject({ state: 'pending', failure: expect.stringMatching(/^E\w+ CONN$/) })
  const kept = failed!.content

  await t.server.up()

  const [mail] = await until(() => t.server.arrived.length > 0 && t.server.arrived)
  await ended()
  expect(mail!.headers['message-id']).toContain(failed!.id)
  expect(kept).not.toBeNull()
  expect((await t.rows())[0]!.attemptNo).toBeGreaterThan(1)
})

test('a frozen mail server holds up no post and no health check, and the mail arrives later', async () => {
  const frozen = await t.server.freeze()
  const worker = await t.worker()
  for (let i = 0; i < 8; i++) await write()
  await until(() => frozen.met() >= 5)

  const channelId = await t.w.channel()
  const id = await aDelivery(t.w.db, { organisationId: t.w.organisationId, channelId, dueAt: new Date() })

  await untilPublished(t.w.db, [id])
  expect((await fetch(`${worker.healthUrl}/livez`)).status).toBe(200)
  await until(() => frozen.met() >= 8)
  expect(frozen.most()).toBe(5)
  await t.server.thaw()
  await until(() => t.server.arrived.length === 8)
})

test('a stop waits a bounded time for a frozen mail server, and another worker sends the mail', async () => {
  const frozen = await t.server.freeze()
  const worker = await t.worker()
  await write()
  await until(() => frozen.met() > 0)
  const began = Date.now()

  expect(await worker.stop()).toBe(0)

  expect(Date.now() - began).toBeLessThan(5000) // a tenth of the real ten seconds, and the rest of a stop
  await t.server.thaw()
  await t.worker()
  await until(() => t.server.arrived.length === 1)
})

test('a mail whose recipient is refused for good ends, and one that is refused for now is tried again', async () => {
  const worker = await t.worker()
  t.server.script.refuse = { code: 550, message: `no mailbox ${t.email}` }
  await write()
  await ended()
  expect(await t.rows()).toMatchObject([
    { state: 'failed', failure: 'EENVELOPE 550 RCPT TO', content: null, attemptNo: 1 },
  ])

  t.server.script.refuse = { code: 450, message: 'greylisted' }
  await t.w.db.delete(mails)
  await write()
  await until(async () => (await t.rows())[0]?.failure === 'EENVELOPE 450 RCPT TO')
  t.server.script.refuse = null
  await until(() => t.server.arrived.length === 1)
  await until(() => worker.log().includes('"outcome":"sent"'))
  const lines = worker
    .log()
    .split('\n')
    .filter((line) => line.includes('mail tried'))
  const tried = lines.map((line) => JSON.parse(line))
  const kinds = new Set(tried.map(({ level, outcome, againInMs }) => `${level} ${outcome} ${typeof againInMs}`))
  expect(kinds).toEqual(new Set(['40 refused undefined', '40 later number', '30 sent undefined']))
})

test('a worker that is killed after sending, before it records it: the mail comes twice at most, as the same message', async () => {
  const killed = await t.worker({ dieAt: { point: 'mailed' } })
  await write()
  await killed.ended
  expect(t.server.arrived).toHaveLength(1)
  expect((await t.rows())[0]!.state).toBe('pending')

  await t.worker()

  await ended()
  const ids = t.server.arrived.map(({ headers }) => headers['message-id'])
  expect([ids.length, new Set(ids).size]).toEqual([2, 1])
  expect(t.server.arrived[0]!.body).toBe(t.server.arrived[1]!.body)
})

test('a mail that lost its wake-up is sent', async () => {
  await write()
  await t.w.db.execute(sql`select graphile_worker.remove_job(${`mail:${(await t.rows())[0]!.id}`})`)

  await t.worker()

  await until(() => t.server.arrived.length === 1)
})

test('a typed address that its server refuses, of a sign-up or of an account, counts in no figure that an alert reads', async () => {
  t.server.script.refuse = { code: 450, message: 'no mailbox' }
  const form = { name: 'Ada', organisation: 'Works', email: 'typed@example.org', password: 'a good password' }
  expect((await aBrowser(t.w.site.appUrl).post('/signup', form)).status).toBe(200)
  const { browser } = await t.person()
  const change = { intent: 'profile', name: 'Ada', timeZone: 'UTC', email: 'mistyped@example.org', password: Password }
  expect((await browser.post('/settings/account', change)).status).toBe(200)
  const worker = await t.worker()
  await until(async () => (await t.rows()).every(({ failure }) => failure === 'EENVELOPE 450 RCPT TO'))

  const figures = await until(async () => {
    const text = await (await fetch(`${worker.healthUrl}/metrics`)).text()
    return /^punctual_mails_waiting 2$/m.test(text) && /^punctual_mail_tries_total.* [2-9]$/m.test(text) && text
  })
  expect(figures).toMatch(/^punctual_mail_tries_total\{outcome="no_recipient"\} [2-9]/m)
  for (const outcome of ['refused', 'later'])
    expect(figures).toMatch(new RegExp(`^punctual_mail_tries_total\\{outcome="${outcome}"\\} 0`, 'm'))
  expect(figures).toMatch(/^punctual_mail_oldest_seconds 0$/m)
})

test('a mail that cannot be sent in a day is given up, and the metrics count it', async () => {
  await t.server.down()
  const worker = await t.worker()
  await write()
  await until(async () => (await t.rows())[0]?.failure)
  const metrics = async () => (await fetch(`${worker.healthUrl}/metrics`)).text()
  expect(await metrics()).toMatch(/^punctual_mails_waiting 1$/m)

  await t.w.db.update(mails).set({ giveUpAt: sql`now()` })

  await ended()
  expect(await t.rows()).toMatchObject([{ state: 'failed', content: null }])
  expect(await metrics()).toMatch(/^punctual_mail_tries_total\{outcome="later"\} [1-9]/m)
  const fresh = await t.worker() // a process reads these figures once in ten seconds
  const figures = await (await fetch(`${fresh.healthUrl}/metrics`)).text()
  expect(figures).toMatch(/^punctual_mails_failed 1$/m)
  expect(figures).toMatch(/^punctual_mails_given_up 1$/m)
  await t.server.up()
})

test('without SMTP_URL nothing is sent, and the mails wait until they are given up', async () => {
  await write()
  await t.worker({ env: { SMTP_URL: '' } })
  const channelId = await t.w.channel()
  await untilPublished(t.w.db, [
    await aDelivery(t.w.db, { organisationId: t.w.organisationId, channelId, dueAt: new Date() }),
  ])
  expect(await t.rows()).toMatchObject([{ state: 'pending', attemptNo: 0 }])

  await t.w.db.update(mails).set({ giveUpAt: sql`now()` })

  await ended()
  expect(await t.rows()).toMatchObject([{ state: 'failed', failure: 'not_tried' }])
})
