import { and, eq, gt, sql } from 'drizzle-orm'
import { accounts } from '../../db/schema/accounts.ts'
import { mailLinks } from '../../db/schema/mail.ts'
import { mailAccount } from '../../jobs/mail/outbox.ts'
import { mayMail } from '../access/login-throttle.ts'
import { digest } from '../access/secrets.ts'
import { open, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { MailChoice, MailedLink } from './forms.ts'

// What we mail to an account, and whether its address is verified.

export const mail = router({
  /** The signed-in person's mails, and the address that waits for its link. Null: this installation sends none. */
  show: signedIn.query(async ({ ctx: { db, env, actor } }) => {
    if (!env.mail) return null
    const isOfPerson = eq(mailLinks.accountId, accounts.id)
    const isWaiting = and(isOfPerson, eq(mailLinks.kind, 'new_address'), gt(mailLinks.expiresAt, sql`now()`))
    const [person] = await db
      .select({
        verifiedAt: accounts.emailVerifiedAt,
        wantsNotices: accounts.wantsNotices,
        newAddress: { id: mailLinks.id, email: mailLinks.email },
      })
      .from(accounts)
      .leftJoin(mailLinks, isWaiting)
      .where(eq(accounts.id, actor.id))
    if (!person) return null
    const { verifiedAt, ...shown } = person
    return { ...shown, isVerified: verifiedAt !== null }
  }),

  /** Whether the person wants mails when something needs attention. */
  choose: signedIn.input(MailChoice).mutation(async ({ ctx: { db, actor }, input }) => {
    await db
      .update(accounts)
      .set({ wantsNotices: input.wantsNotices === 'on' })
      .where(eq(accounts.id, actor.id))
  }),

  /** Mail the link that verifies the person's address again, at most three times an hour. */
  sendAgain: signedIn.mutation(async ({ ctx: { db, env, actor } }) => {
    if (!env.mail) throw new Failure('no_mail')
    if (await mayMail(db, 'verify', actor.email)) await mailAccount(db, actor.id, 'address_check')
  }),

  /** Use a link that verifies an address. It works once, for the account that still has the address. */
  verify: open.input(MailedLink).mutation(async ({ ctx: { db }, input: { token } }): Promise<string> => {
    const [verified] = await db.execute<{ email: string }>(sql`
      with link as (
        delete from mail_links where token_hash = ${digest(token)} and kind = 'address_check' and expires_at > now()
        returning account_id, email
      )
      update accounts a set email_verified_at = now() from link
      where a.id = link.account_id and a.email = link.email returning a.email`)
    if (!verified) throw new Failure('link_expired')
    return verified.email
  }),
})
