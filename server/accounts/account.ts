import { and, eq, sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { accounts, memberships, organisations, type Role, sessions } from '../../db/schema/accounts.ts'
import { pauseOf } from '../../jobs/ledger/pause.ts'
import { mailAccount } from '../../jobs/mail/outbox.ts'
import { isOperator } from '../access/credentials.ts'
import { mayMail, throttled } from '../access/login-throttle.ts'
import { scopes } from '../access/scopes.ts'
import { hashPassword, verifyPassword } from '../access/secrets.ts'
import { authenticated, type Context, open, router, signedIn } from '../access/trpc.ts'
import { Failure, type KnownFault } from '../errors.ts'
import { ById, Nothing } from '../forms.ts'
import { lockAccount, orEmailTaken, requireFree } from './address.ts'
import { knownDevice } from './devices.ts'
import { ChangePassword, SignIn, UpdateAccount } from './forms.ts'
import { awaitLink, changeAtOnce } from './new-address.ts'
import { endLinks } from './password-reset.ts'
import { namesOf, requireHardToGuess } from './passwords.ts'
import { endSessions, type Membership, type NewSession, renewSession, startSession } from './sessions.ts'

export const account = router({
  signIn: open
    .input(SignIn)
    .mutation(async ({ ctx: { db, env, address, device = null }, input }): Promise<NewSession> => {
      const { email, password, organisationId } = input
      const known = await knownDevice(db, email, device)
      const person = await throttled(db, env.authRateLimit, { email, address, known }, async () => {
        const person = await accountByEmail(db, email)
        return (await verifyPassword(person?.passwordHash ?? null, password)) ? person : null
      })
      if (!person) throw new Failure('wrong_password')
      return db.transaction(async (tx) => {
        await requireUnchanged(tx, person)
        return startSession(tx, await membershipFor(tx, person, organisationId), device)
      })
    }),

  signOut: signedIn.mutation(async ({ ctx: { db, actor } }) => {
    await db.delete(sessions).where(eq(sessions.id, actor.sessionId))
  }),

  signOutEverywhere: signedIn.mutation(async ({ ctx: { db, actor } }) => {
    await db.delete(sessions).where(eq(sessions.accountId, actor.id))
  }),

  /** The signed-in person, and the organisations that they may look at. */
  show: signedIn.query(async ({ ctx: { db, env, actor } }) => {
    const [theirs, pause] = await Promise.all([
      db
        .select({ id: organisations.id, name: organisations.name, role: memberships.role })
        .from(memberships)
        .innerJoin(organisations, eq(organisations.id, memberships.organisationId))
        .where(eq(memberships.accountId, actor.id))
        .orderBy(organisations.name, organisations.id),
      pauseOf(db, actor.organisationId),
    ])
    const { id, name, email, timeZone, organisationId, isSuspended, role } = actor
    return {
      id,
      name,
      email,
      timeZone,
      organisationId,
      isSuspended,
      pause,
      role,
      organisations: theirs,
      isOperator: isOperator(env, email),
    }
  }),

  /** The credential's own view: whose it is and what it may do. */
  whoami: authenticated.input(Nothing).query(async ({ ctx: { db, actor, organisationId } }) => {
    const [organisation] = await db
      .select({ id: organisations.id, name: organisations.name })
      .from(organisations)
      .where(eq(organisations.id, organisationId))
    return {
      organisation: organisation!,
      credential: { kind: actor.kind, name: actor.name, scopes: actor.kind === 'member' ? [...scopes] : actor.scopes },
    }
  }),

  /** With a mail server, a new address waits for the link that we mail to it. The rest is saved at once. */
  update: signedIn.input(UpdateAccount).mutation(async ({ ctx, input }) => {
    const { db, env, actor } = ctx
    const { password = '', email, ...profile } = input
    if (email.toLowerCase() === actor.email.toLowerCase()) return saveProfile(db, actor.id, { ...profile, email })
    // A new address allows a reset of the password, so an unlocked browser must not be enough to change it.
    const hash = await requirePassword(ctx, password, 'password')
    requireFree(env, email)
    const waits = Boolean(env.mail?.url)
    const mayWrite = env.mail !== null && (await mayMail(db, waits ? 'new-address' : 'verify', email))
    const change = { email, mayWrite }
    await db.transaction(async (tx) => {
      const person = await lockAccount(tx, actor.id)
      if (person?.passwordHash !== hash) throw notYourPassword('password') // somebody else changed it just now
      await saveProfile(tx, actor.id, profile)
      await (waits ? awaitLink(tx, actor.id, change) : changeAtOnce(tx, ctx, person, change))
    })
  }),

  /** Every session ends but this one, which goes on under a new token. Null: it has ended meanwhile. */
  changePassword: signedIn.input(ChangePassword).mutation(async ({ ctx, input }): Promise<NewSession | null> => {
    const { db, actor, device = null } = ctx
    await requireHardToGuess(input.password, { email: actor.email, names: await namesOf(db, actor) })
    const currentHash = await requirePassword(ctx, input.current, 'current')
    const passwordHash = await hashPassword(input.password)
    return db.transaction(async (tx) => {
      const isCurrent = and(eq(accounts.id, actor.id), eq(accounts.passwordHash, currentHash))
      const changed = await tx.update(accounts).set({ passwordHash }).where(isCurrent)
      if (changed.count === 0) throw notYourPassword('current') // somebody else changed it just now
      await endSessions(tx, actor.id, actor.sessionId)
      await endLinks(tx, actor.id)
      if (ctx.env.mail) await mailAccount(tx, actor.id, 'password_changed')
      return renewSession(tx, actor, device)
    })
  }),

  switchOrganisation: signedIn.input(ById).mutation(async ({ ctx: { db, actor }, input }) => {
    const [membership] = await db
      .select()
      .from(memberships)
      .where(and(eq(memberships.accountId, actor.id), eq(memberships.organisationId, input.id)))
    if (!membership) throw new Failure('not_found')
    await db.update(sessions).set({ organisationId: input.id }).where(eq(sessions.id, actor.sessionId))
  }),
})

type Profile = Omit<z.output<typeof UpdateAccount>, 'email' | 'password'>

// `email`: the account's own in other letter cases. Left out, or another one by now: it stays.
async function saveProfile(tx: Tx, id: string, profile: Profile & { email?: string }): Promise<void> {
  const { email = null, weekStart, clock, ...rest } = profile
  const calendar = { weekStart: weekStart === 0 ? null : weekStart, clock: clock === 0 ? null : clock }
  const own = sql`case when lower(email) = lower(${email}::text) then ${email} else email end`
  await tx
    .update(accounts)
    .set({ ...rest, ...calendar, email: own })
    .where(eq(accounts.id, id))
}

/** The account with this e-mail address. Upper and lower case are the same. */
export async function accountByEmail(tx: Tx, email: string) {
  const [person] = await tx.select().from(accounts).where(sql`lower(${accounts.email}) = lower(${email})`)
  return person ?? null
}

/** `isVerified`: they have read a mail to the address. */
type NewAccount = {
  name: string
  email: string
  passwordHash: string
  timeZone?: string | undefined
  isVerified?: boolean
}

/** Insert an account and return its id. Throws `email_taken`. */
export async function createAccount(tx: Tx, person: NewAccount): Promise<string> {
  const { name, email, passwordHash, timeZone = 'UTC', isVerified = false } = person
  const emailVerifiedAt = isVerified ? sql`now()` : null
  const row = { name, email, passwordHash, timeZone, emailVerifiedAt }
  const [made] = await orEmailTaken(() => tx.insert(accounts).values(row).returning({ id: accounts.id }))
  return made!.id
}

/** Insert an organisation with its first member and return its id. */
export async function createOrganisation(tx: Tx, name: string, ownerId: string, role: Role = 'owner'): Promise<string> {
  const [row] = await tx.insert(organisations).values({ name }).returning({ id: organisations.id })
  await tx.insert(memberships).values({ organisationId: row!.id, accountId: ownerId, role })
  return row!.id
}

/** Set a new password. Ends every session of the account, forgets its devices and ends its links. Mails, if we can. */
export async function setPassword(tx: Tx, env: Context['env'], accountId: string, password: string): Promise<void> {
  const passwordHash = await hashPassword(password)
  await tx.update(accounts).set({ passwordHash }).where(eq(accounts.id, accountId))
  await endSessions(tx, accountId)
  await endLinks(tx, accountId)
  if (env.mail) await mailAccount(tx, accountId, 'password_changed')
}

// A password that is changed meanwhile ends every session: one that begins after it would not be among them.
async function requireUnchanged(tx: Tx, { id, passwordHash }: { id: string; passwordHash: string }): Promise<void> {
  const rows = await tx.execute(sql`
    select from accounts where id = ${id} and password_hash = ${passwordHash} for share`)
  if (rows.length === 0) throw new Failure('wrong_password')
}

// The one in `wanted` if there is one, else the first.
async function membershipFor(db: Tx, { id }: { id: string }, wanted: string | undefined): Promise<Membership> {
  const [membership] = await db
    .select({ accountId: memberships.accountId, organisationId: memberships.organisationId })
    .from(memberships)
    .where(eq(memberships.accountId, id))
    .orderBy(sql`${memberships.organisationId} = ${wanted ?? null} desc nulls last`, memberships.createdAt)
    .limit(1)
  if (!membership) throw new Failure('wrong_password', { detail: "This account doesn't belong to an organisation." })
  return membership
}

type PasswordContext = Pick<Context, 'db' | 'env' | 'address'> & {
  actor: { id: string; email: string; sessionId: string }
}

// Counted like a sign-in, for this session alone, so that nobody guesses passwords in an unlocked browser. Returns the hash.
async function requirePassword(
  { db, env, address, actor }: PasswordContext,
  password: string,
  field: string,
): Promise<string> {
  if (password === '') throw besidePassword(field, 'required', 'Enter your password.')
  const known = `session ${actor.sessionId}`
  const hash = await throttled(db, env.authRateLimit, { email: actor.email, address, known }, async () => {
    const [person] = await db.select({ hash: accounts.passwordHash }).from(accounts).where(eq(accounts.id, actor.id))
    return (await verifyPassword(person?.hash ?? null, password)) && person ? person.hash : null
  })
  if (hash === null) throw notYourPassword(field)
  return hash
}

function notYourPassword(field: string): Failure {
  return besidePassword(field, 'wrong_password', 'This is not your password.')
}

function besidePassword(path: string, code: KnownFault['code'], message: string): Failure {
  return new Failure('unprocessable', { errors: [{ path, code, message }] })
}
