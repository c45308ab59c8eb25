import { afterAll, beforeAll, expect, test } from 'vitest'
import { mails } from '../../../db/schema/mail.ts'
import { mailPage } from '../../../server/web/dev-mail.ts'
import { startWorker, until } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb({ NODE_ENV: 'development' })
})
afterAll(() => w.end())

test('in development without SMTP_URL a mail can be read at /dev/mail, and is sent nowhere', async () => {
  const worker = await startWorker(w.site)
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  expect((await aBrowser(w.site.appUrl).post('/signup', ada)).status).toBe(302)
  await until(async () => (await w.db.select().from(mails)).every(({ state }) => state === 'sent'))

  const html = await mailPage(w.installation)

  expect(html).toContain('<h2>Verify your e-mail address</h2><p>To ada@example.org</p>')
  expect(html).toMatch(/<a href="http:\/\/localhost:\d+\/verify\?token=[\w-]{43}">/)
  await worker.stop()
})

test('a build has no page /dev/mail, not even in development', async () => {
  expect((await aBrowser(w.site.appUrl).get('/dev/mail')).status).toBe(404)
})
