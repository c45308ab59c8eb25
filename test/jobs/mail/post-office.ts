import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { accounts } from '../../../db/schema/accounts.ts'
import { mails, notices } from '../../../db/schema/mail.ts'
import { type Started, startWorker } from '../../processes.ts'
import { aBrowser } from '../../server/browser.ts'
import { aHouse, Password } from '../../server/house.ts'
import { openWeb, type Web } from '../../server/web.ts'
import { type MailServer, startMailServer } from '../../stand-ins/mail-server.ts'

/** A web process and a mail server, for all tests of a file. Each test begins without workers, mails and notices. */
export function webWithMail(extra: Record<string, string> = {}) {
  const running: Started[] = []
  const own = { w: {} as Web, server: {} as MailServer, email: '' }
  let people = 0
  beforeAll(async () => {
    own.server = await startMailServer()
    own.w = await openWeb({ SMTP_URL: own.server.url, ...extra })
    const [owner] = await own.w.db.select().from(accounts).where(eq(accounts.id, own.w.accountId))
    own.email = owner!.email
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((worker) => worker.stop()))
    await own.w.db.delete(notices)
    await own.w.db.delete(mails)
    own.server.arrived.length = 0
    own.server.script.refuse = null
  })
  afterAll(async () => {
    await own.w.end()
    await own.server.end()
  })
  return Object.assign(own, {
    async worker(options: Parameters<typeof startWorker>[1] = {}) {
      const worker = await startWorker(own.w.site, options)
      running.push(worker)
      return worker
    },
    /** A person with an account, signed in in a browser with `Password`. Their address is not verified. */
    async person() {
      const email = `person${++people}@example.org`
      const { accountId } = await aHouse(own.w)
      await own.w.db.update(accounts).set({ email }).where(eq(accounts.id, accountId))
      const browser = aBrowser(own.w.site.appUrl)
      expect((await browser.post('/login', { email, password: Password })).status).toBe(302)
      return { email, browser, accountId }
    },
    /** The mails in the database, the oldest first. */
    rows: () => own.w.db.select().from(mails).orderBy(mails.createdAt),
  })
}
