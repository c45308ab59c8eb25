import { and, eq, sql } from 'drizzle-orm'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { accounts, memberships, organisations, type Role, sessions } from '../../db/schema/accounts.ts'
import { pauseOf } from '../../jobs/ledger/pause.ts'
import { isOperator } from '../access/credentials.ts'
import { countSignUp, throttled } from '../access/login-throttle.ts'
import { scopes } from '../access/scopes.ts'
import { hashPassword, verifyPassword } from '../access/secrets.ts'
import { authenticated, type Context, open, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById, Nothing } from '../forms.ts'
import { knownDevice } from './devices.ts'
import { ChangePassword, SignIn, SignUp, UpdateAccount } from './forms.ts'
import { requireHardToGuess } from './passwords.ts'
import { endSessions, type Membership, type NewSession, renewSession, startSession } from './sessions.ts'

export const account = router({
  signUp: open
    .input(SignUp)
    .mutation(async ({ ctx: { db, env, address, device = null }, input }): Promise<NewSession> => {
      if (env.signup === 'closed') throw new Failure('signup_closed')
      await countSignUp(db, env.authRateLimit, address) // failed ones too: each shows whether an address has an account
      requireFree(env, input.email)
      await requireHardToGuess(input.password, { email: input.email, names: [input.name, input.organisation] })
      const passwordHash = await hashPassword(input.password)
      return db.transaction(async (tx) => {
        const accountId = await createAccount(tx, { ...input, passwordHash })
        const organisationId = await createOrganisation(tx, input.organisation, accountId)
        return startSession(tx, { accountId, organisationId }, device)
      })
    }),

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

  update: signedIn.input(UpdateAccount).mutation(async ({ ctx, input }) => {
    const { db, actor } = ctx
    const { password, ...change } = input
    // A new address allows a reset of the password, so an unlocked browser must not be enough to change it.
    if (change.email.toLowerCase() !== actor.email.toLowerCase()) {
      await requirePassword(ctx, password ?? '', 'password')
      requireFree(ctx.env, change.email)
    }
    await orEmailTaken(() => db.update(accounts).set(change).where(eq(accounts.id, actor.id)))
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

/** The account with this e-mail address. Upper and lower case are the same. */
export async function accountByEmail(tx: Tx, email: string) {
  const [person] = await tx.select().from(accounts).where(sql`lower(${accounts.email}) = lower(${email})`)
  return person ?? null
}

/** Insert an account and return its id. Throws `email_taken`. */
export async function createAccount(
  tx: Tx,
  person: { name: string; email: string; passwordHash: string; timeZone?: string | undefined },
): Promise<string> {
  const { name, email, passwordHash, timeZone = 'UTC' } = person
  const [row] = await orEmailTaken(() =>
    tx.insert(accounts).values({ name, email, passwordHash, timeZone }).returning({ id: accounts.id }),
  )
  return row!.id
}

/** Insert an organisation with its first member and return its id. */
export async function createOrganisation(tx: Tx, name: string, ownerId: string, role: Role = 'owner'): Promise<string> {
  const [row] = await tx.insert(organisations).values({ name }).returning({ id: organisations.id })
  await tx.insert(memberships).values({ organisationId: row!.id, accountId: ownerId, role })
  return row!.id
}

/** Set a new password. Ends every session of the account and forgets its devices. */
export async function setPassword(tx: Tx, accountId: string, password: string): Promise<void> {
  const passwordHash = await hashPassword(password)
  await tx.update(accounts).set({ passwordHash }).where(eq(accounts.id, accountId))
  await endSessions(tx, accountId)
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

/** What the person and their organisations are called. */
export async function namesOf(db: Tx, { id, name }: { id: string; name: string }): Promise<string[]> {
  const theirs = await db
    .select({ name: organisations.name })
    .from(organisations)
    .innerJoin(memberships, eq(memberships.organisationId, organisations.id))
    .where(eq(memberships.accountId, id))
  return [name, ...theirs.map((organisation) => organisation.name)]
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
  const known = `session ${actor.sessionId}`
  const hash = await throttled(db, env.authRateLimit, { email: actor.email, address, known }, async () => {
    const [person] = await db.select({ hash: accounts.passwordHash }).from(accounts).where(eq(accounts.id, actor.id))
    return (await verifyPassword(person?.hash ?? null, password)) && person ? person.hash : null
  })
  if (hash === null) throw notYourPassword(field)
  return hash
}

function notYourPassword(field: string): Failure {
  const message = 'This is not your password.'
  return new Failure('unprocessable', { errors: [{ path: field, code: 'wrong_password', message }] })
}

// We do not verify addresses, and these give power over the whole installation.
function requireFree(env: Context['env'], email: string): void {
  if (!isOperator(env, email)) return
  const message =
    'This e-mail address belongs to an operator of this installation. Create its account with `npm run admin -- create-account`.'
  throw new Failure('email_reserved', { detail: message, errors: [{ path: 'email', code: 'email_reserved', message }] })
}

async function orEmailTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    throw new Failure('email_taken', {
      errors: [{ path: 'email', code: 'email_taken', message: 'An account with this e-mail address already exists.' }],
      cause: error,
    })
  }
}
