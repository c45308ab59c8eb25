import { and, eq, gt, sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { accounts, signUps } from '../../db/schema/accounts.ts'
import { mailAccount, mailSignUp, SignUpHours } from '../../jobs/mail/outbox.ts'
import { countSignUp, countSignUpMail, throttled } from '../access/login-throttle.ts'
import { digest, hashPassword, verifyPassword } from '../access/secrets.ts'
import { type Context, open, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { createAccount, createOrganisation } from './account.ts'
import { requireFree } from './address.ts'
import { BeginSignUp, FinishSignUp, MailedLink } from './forms.ts'
import { requireHardToGuess } from './passwords.ts'
import { type NewSession, startSession } from './sessions.ts'

// A new account. With a mail server, nobody learns here which addresses have an account: for each address the request does
// the same, and only the worker looks for the account. Without one, a taken address must be refused at once.

export const signUp = router({
  /** Returns the session of the new account. Null: it is created by the link that we mail. */
  begin: open.input(BeginSignUp).mutation(async ({ ctx, input }): Promise<NewSession | null> => {
    const { db, env, address } = ctx
    requireOpen(env)
    await countSignUp(db, env.authRateLimit, address) // failed ones too
    await requireHardToGuess(input.password, { email: input.email, names: [input.name, input.organisation] })
    if (!env.mail?.url) return startAtOnce(ctx, input)
    const mayMail = await countSignUpMail(db, input.email)
    const passwordHash = await hashPassword(input.password) // also without a mail, so that the time is the same
    if (mayMail) await mailLink(ctx, input, passwordHash)
    return null
  }),

  /** What a link would create. Does not use it: mail programs open links by themselves. Null: it no longer works. */
  show: open.input(MailedLink).query(async ({ ctx: { db }, input }) => {
    const { name, email, organisation, next } = signUps
    const [waiting] = await db
      .select({ name, email, organisation, next, accountId: accounts.id })
      .from(signUps)
      .leftJoin(accounts, sql`lower(${accounts.email}) = lower(${signUps.email})`)
      .where(worksBy(input.token))
    if (!waiting) return null
    const { accountId, ...shown } = waiting
    return { ...shown, hasAccount: accountId !== null }
  }),

  /**
   * Use a link with the password of its sign-up: create the account with its organisation, and sign in. It works once,
   * and an address gets one account, however many links it has. Throws `link_expired`, `unprocessable` for another
   * password, or `email_taken` if the address has an account by now.
   */
  finish: open.input(FinishSignUp).mutation(async ({ ctx, input }): Promise<{ session: NewSession; next: string }> => {
    const { db, env, device = null } = ctx
    requireOpen(env)
    await requireSignUpPassword(ctx, input)
    return db.transaction(async (tx) => {
      const person = await take(tx, input.token)
      const membership = await create(tx, { ...person, isVerified: true })
      return { session: await startSession(tx, membership, device), next: person.next }
    })
  }),
})

// The person who typed the address may not own it. They know the password, and the reader of the mail may not.
async function requireSignUpPassword(
  { db, env, address }: Context,
  { token, password }: z.output<typeof FinishSignUp>,
): Promise<void> {
  const { id, email, passwordHash } = signUps
  const [waiting] = await db.select({ id, email, passwordHash }).from(signUps).where(worksBy(token))
  if (!waiting) throw new Failure('link_expired') // first: a wrong link costs no hash
  requireFree(env, waiting.email)
  const attempt = { email: waiting.email, address, known: `sign-up ${waiting.id}` }
  const isRight = async () => (await verifyPassword(waiting.passwordHash, password)) || null
  if (!(await throttled(db, env.authRateLimit, attempt, isRight)))
    throw new Failure('unprocessable', { errors: [otherPassword] })
}

const otherPassword = {
  path: 'password',
  code: 'wrong_password' as const,
  message: 'This is not the password of this sign-up. If you forgot it, sign up again.',
}

type NewPerson = z.output<typeof BeginSignUp>

async function startAtOnce({ db, env, device = null }: Context, input: NewPerson): Promise<NewSession> {
  requireFree(env, input.email)
  const passwordHash = await hashPassword(input.password)
  return db.transaction(async (tx) => {
    const membership = await create(tx, { ...input, passwordHash })
    if (env.mail) await mailAccount(tx, membership.accountId, 'address_check') // development shows it
    return startSession(tx, membership, device)
  })
}

async function mailLink(
  { db }: Context,
  { password: _, timeZone = 'UTC', ...person }: NewPerson,
  passwordHash: string,
): Promise<void> {
  const expiresAt = sql`now() + make_interval(hours => ${SignUpHours})`
  await db.transaction(async (tx) => {
    const row = { ...person, timeZone, passwordHash, expiresAt }
    const [waiting] = await tx.insert(signUps).values(row).returning({ id: signUps.id })
    await mailSignUp(tx, waiting!.id)
  })
}

type NewOwner = Parameters<typeof createAccount>[1] & { organisation: string }

async function create(tx: Tx, { organisation, ...person }: NewOwner) {
  const accountId = await createAccount(tx, person)
  return { accountId, organisationId: await createOrganisation(tx, organisation, accountId) }
}

// Deleting it locks it: of many uses at once only one gets it.
async function take(tx: Tx, token: string) {
  const { email, name, organisation, passwordHash, timeZone, next } = signUps
  const [person] = await tx
    .delete(signUps)
    .where(worksBy(token))
    .returning({ email, name, organisation, passwordHash, timeZone, next })
  if (!person) throw new Failure('link_expired')
  return person
}

function worksBy(token: string) {
  return and(eq(signUps.tokenHash, digest(token)), gt(signUps.expiresAt, sql`now()`))
}

function requireOpen({ signup }: Context['env']): void {
  if (signup === 'closed') throw new Failure('signup_closed')
}
