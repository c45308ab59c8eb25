import { and, eq, gt, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { accounts } from '../../db/schema/accounts.ts'
import { mailLinks } from '../../db/schema/mail.ts'
import { mailAccount, mailFormerAddress, mailNewAddress, NewAddressHours } from '../../jobs/mail/outbox.ts'
import { mayMail } from '../access/login-throttle.ts'
import { digest } from '../access/secrets.ts'
import { type Context, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { lockAccount, orEmailTaken, requireFree } from './address.ts'
import { MailedLink } from './forms.ts'
import { endLinks } from './password-reset.ts'

// A new e-mail address of an account. With a mail server it waits until its link is used: the account keeps its former
// address, and the new one stays free for its owner. Without a mail server the account has it at once.

export const newAddress = router({
  /** What a link would give to the person's account. Does not use it. Null: it no longer works, or is another account's. */
  show: signedIn.input(MailedLink).query(async ({ ctx: { db, actor }, input: { token } }): Promise<string | null> => {
    const [link] = await db.select({ email: mailLinks.email }).from(mailLinks).where(worksBy(actor.id, token))
    return link?.email ?? null
  }),

  /**
   * Use a link: the account has its address from now on, verified. Only the account that asked can use it. Otherwise a
   * person whose address a stranger typed could give it to the stranger's account by one click. Throws `link_expired`, or
   * `email_taken` if an account has the address by now.
   */
  use: signedIn.input(MailedLink).mutation(({ ctx, input: { token } }): Promise<string> => {
    const { db, env, actor } = ctx
    return db.transaction(async (tx) => {
      const person = await lockAccount(tx, actor.id)
      const [link] = await tx.delete(mailLinks).where(worksBy(actor.id, token)).returning({ email: mailLinks.email })
      if (!person || !link) throw new Failure('link_expired')
      requireFree(env, link.email)
      await setAddress(tx, ctx, person, { email: link.email, isVerified: true })
      return link.email
    })
  }),

  /** Mail a new link to the address that waits, at most three times an hour. The former link no longer works. */
  sendAgain: signedIn.mutation(async ({ ctx: { db, env, actor } }) => {
    if (!env.mail) throw new Failure('no_mail')
    const email = await waitingAddress(db, actor.id)
    if (email === null) return
    if (!(await mayMail(db, 'new-address', email))) throw new Failure('rate_limited', tooManyMails)
    await db.transaction(async (tx) => {
      await lockAccount(tx, actor.id)
      const isStillIt = (await waitingAddress(tx, actor.id)) === email
      if (isStillIt) await awaitLink(tx, actor.id, { email, mayWrite: true })
    })
  }),

  /** Keep the address that the account has. */
  drop: signedIn.mutation(async ({ ctx: { db, actor } }) => {
    await db.delete(mailLinks).where(isNewAddressOf(actor.id))
  }),
})

const tooManyMails = {
  detail: 'We send at most 3 mails an hour to an address. Use the newest link, or try again later.',
  retryAfterSeconds: 3600,
}

/** `mayWrite`: this address may get another mail in this hour. */
type NewAddress = { email: string; mayWrite: boolean }

type Person = NonNullable<Awaited<ReturnType<typeof lockAccount>>>

/** Let an address wait for its link, in place of any other. The account is locked. Does the same for every address. */
export async function awaitLink(tx: Tx, accountId: string, { email, mayWrite }: NewAddress): Promise<void> {
  const isWaiting = (await waitingAddress(tx, accountId))?.toLowerCase() === email.toLowerCase()
  if (isWaiting && !mayWrite) return // its link still works
  await tx.delete(mailLinks).where(isNewAddressOf(accountId))
  const expiresAt = sql`now() + make_interval(hours => ${NewAddressHours})`
  const row = { accountId, kind: 'new_address' as const, email, expiresAt }
  const [link] = await tx.insert(mailLinks).values(row).returning({ id: mailLinks.id })
  if (mayWrite) await mailNewAddress(tx, accountId, link!.id)
}

/** Give an account an address that is not verified. The account is locked. Throws `email_taken`. */
export async function changeAtOnce(
  tx: Tx,
  ctx: Pick<Context, 'env' | 'ring'>,
  person: Person,
  { email, mayWrite }: NewAddress,
): Promise<void> {
  await setAddress(tx, ctx, person, { email, isVerified: false })
  if (mayWrite) await mailAccount(tx, person.id, 'address_check')
}

// The former address is told, if it was verified: otherwise it may be a stranger's.
async function setAddress(
  tx: Tx,
  { env, ring }: Pick<Context, 'env' | 'ring'>,
  person: Person,
  { email, isVerified }: { email: string; isVerified: boolean },
): Promise<void> {
  const emailVerifiedAt = isVerified ? sql`now()` : null
  const write = () => tx.update(accounts).set({ email, emailVerifiedAt }).where(eq(accounts.id, person.id))
  const taken = `There is an account with ${email} now. Sign in to it, or use another address.`
  await orEmailTaken(write, isVerified ? taken : undefined)
  await endLinks(tx, person.id)
  if (env.mail && person.emailVerifiedAt) await mailFormerAddress(tx, ring, person.id, person.email)
}

async function waitingAddress(tx: Tx, accountId: string): Promise<string | null> {
  const isWaiting = and(isNewAddressOf(accountId), gt(mailLinks.expiresAt, sql`now()`))
  const [link] = await tx.select({ email: mailLinks.email }).from(mailLinks).where(isWaiting)
  return link?.email ?? null
}

function worksBy(accountId: string, token: string) {
  const isThisLink = eq(mailLinks.tokenHash, digest(token))
  return and(isNewAddressOf(accountId), isThisLink, gt(mailLinks.expiresAt, sql`now()`))
}

function isNewAddressOf(accountId: string) {
  return and(eq(mailLinks.accountId, accountId), eq(mailLinks.kind, 'new_address'))
}
