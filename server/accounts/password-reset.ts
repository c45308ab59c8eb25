import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { accounts } from '../../db/schema/accounts.ts'
import { mailLinks } from '../../db/schema/mail.ts'
import { mailAccount, mailReset } from '../../jobs/mail/outbox.ts'
import { countReset } from '../access/login-throttle.ts'
import { digest, hashPassword } from '../access/secrets.ts'
import { open, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { lockAccount } from './address.ts'
import { ForgotPassword, MailedLink, ResetPassword } from './forms.ts'
import { namesOf, requireHardToGuess } from './passwords.ts'
import { endSessions } from './sessions.ts'

// A new password by a link that we mail. Nobody learns here which addresses have an account: for each address the
// request does the same, and only the worker looks for the account.

export const passwordReset = router({
  request: open.input(ForgotPassword).mutation(async ({ ctx: { db, env, ring, address }, input: { email } }) => {
    if (!env.mail) throw new Failure('no_mail')
    if (await countReset(db, env.authRateLimit, { email, address })) await mailReset(db, ring, email)
  }),

  /** Whether a link still works. Does not use it: mail programs open links by themselves. */
  check: open.input(MailedLink).query(async ({ ctx: { db }, input }) => (await holderOf(db, input.token)) !== null),

  /**
   * Set a new password. The link works once. Every session of the account ends and its devices are forgotten: anyone who
   * knew the old password is out. The person has read a mail to this address, so it is verified too.
   */
  redeem: open.input(ResetPassword).mutation(async ({ ctx: { db, env }, input: { token, password } }) => {
    const person = await holderOf(db, token) // first: a wrong link costs no hash
    if (!person) throw new Failure('link_expired')
    await requireHardToGuess(password, { email: person.email, names: await namesOf(db, person) })
    const passwordHash = await hashPassword(password)
    await db.transaction(async (tx) => {
      await lockAccount(tx, person.id)
      await redeem(tx, token, passwordHash)
      await endSessions(tx, person.id)
      await endLinks(tx, person.id)
      if (env.mail) await mailAccount(tx, person.id, 'password_changed')
    })
  }),
})

/** End the links of an account for a new password and for a new address: its password or address has just changed. */
export async function endLinks(tx: Tx, accountId: string): Promise<void> {
  const kinds = ['password_reset', 'new_address'] as const
  await tx.delete(mailLinks).where(and(eq(mailLinks.accountId, accountId), inArray(mailLinks.kind, kinds)))
}

async function holderOf(tx: Tx, token: string) {
  const [person] = await tx
    .select({ id: accounts.id, name: accounts.name, email: accounts.email })
    .from(mailLinks)
    .innerJoin(accounts, and(eq(accounts.id, mailLinks.accountId), eq(accounts.email, mailLinks.email)))
    .where(
      and(
        eq(mailLinks.tokenHash, digest(token)),
        eq(mailLinks.kind, 'password_reset'),
        gt(mailLinks.expiresAt, sql`now()`),
      ),
    )
  return person ?? null
}

// One statement uses the link up and sets the password, so that of many at once only one does.
async function redeem(tx: Tx, token: string, passwordHash: string): Promise<void> {
  const redeemed = await tx.execute(sql`
    with link as (
      delete from mail_links
      where token_hash = ${digest(token)} and kind = 'password_reset' and expires_at > now() returning account_id, email
    )
    update accounts a set
      password_hash = ${passwordHash}, email_verified_at = coalesce(a.email_verified_at, now())
    from link where a.id = link.account_id and a.email = link.email returning a.id`)
  if (redeemed.length === 0) throw new Failure('link_expired')
}
