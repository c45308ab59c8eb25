import { and, eq, ne, sql } from 'drizzle-orm'
import { sqlStateOf, type Tx } from '../db/client.ts'
import { accounts, memberships, organisations, type Role, sessions } from '../db/schema.ts'
import { isOperator } from './actor.ts'
import { Failure } from './errors.ts'
import { ById, ChangePassword, SignIn, SignUp, scopes, UpdateAccount } from './forms.ts'
import { digest, hashPassword, mintToken, verifyPassword } from './secrets.ts'
import { countSignUp, createThrottle } from './throttle.ts'
import { authenticated, type Context, open, router, signedIn } from './trpc.ts'

const SessionDays = 30

/** What the cookie carries, once. */
export type NewSession = { token: string; expiresAt: Date }

export const account = router({
  signUp: open.input(SignUp).mutation(async ({ ctx: { db, env, address }, input }): Promise<NewSession> => {
    if (env.signup === 'closed') throw new Failure('signup_closed')
    await countSignUp(db, env.authRateLimit, address) // also those in vain: each tells whether an address has an account
    demandFree(env, input.email)
    const passwordHash = await hashPassword(input.password)
    return db.transaction(async (tx) => {
      const accountId = await createAccount(tx, { ...input, passwordHash })
      const organisationId = await createOrganisation(tx, input.organisation, accountId)
      return startSession(tx, accountId, organisationId)
    })
  }),

  signIn: open.input(SignIn).mutation(async ({ ctx: { db, env, address }, input }): Promise<NewSession> => {
    const throttled = createThrottle(db, env.authRateLimit)
    return throttled({ address, email: input.email }, async () => {
      const person = await accountByEmail(db, input.email)
      if (!(await verifyPassword(person?.passwordHash ?? null, input.password)) || !person)
        throw new Failure('wrong_password')
      const [membership] = await db
        .select()
        .from(memberships)
        .where(eq(memberships.accountId, person.id))
        .orderBy(memberships.createdAt)
        .limit(1)
      if (!membership) throw new Failure('wrong_password', { detail: 'This account belongs to no organisation.' })
      return startSession(db, person.id, membership.organisationId)
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
    const theirs = await db
      .select({ id: organisations.id, name: organisations.name, role: memberships.role })
      .from(memberships)
      .innerJoin(organisations, eq(organisations.id, memberships.organisationId))
      .where(eq(memberships.accountId, actor.id))
      .orderBy(organisations.name, organisations.id)
    const { id, name, email, timeZone, organisationId, role } = actor
    return {
      ...{ id, name, email, timeZone, organisationId, role, organisations: theirs },
      isOperator: isOperator(env, email),
    }
  }),

  /** The credential's own view: whose it is and what it may do. */
  whoami: authenticated.query(async ({ ctx: { db, actor, organisationId } }) => {
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
    // Whoever changes the address can have the password reset: a borrowed browser must not be enough.
    if (change.email.toLowerCase() !== actor.email.toLowerCase()) {
      await demandPassword(ctx, password ?? '', 'password')
      demandFree(ctx.env, change.email)
    }
    await orEmailTaken(() => db.update(accounts).set(change).where(eq(accounts.id, actor.id)))
  }),

  changePassword: signedIn.input(ChangePassword).mutation(async ({ ctx, input }) => {
    const { db, actor } = ctx
    await demandPassword(ctx, input.current, 'current')
    await setPassword(db, actor.id, input.password, actor.sessionId)
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

/** The account with this e-mail address, in whatever case it is written. */
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

/** Set a new password, and end every session of the account but `keptSessionId`. */
export async function setPassword(tx: Tx, accountId: string, password: string, keptSessionId?: string): Promise<void> {
  const passwordHash = await hashPassword(password)
  await tx.update(accounts).set({ passwordHash }).where(eq(accounts.id, accountId))
  await tx
    .delete(sessions)
    .where(and(eq(sessions.accountId, accountId), keptSessionId ? ne(sessions.id, keptSessionId) : undefined))
}

async function startSession(tx: Tx, accountId: string, organisationId: string): Promise<NewSession> {
  const token = mintToken()
  const expiresAt = new Date(Date.now() + SessionDays * 86_400_000)
  await tx.insert(sessions).values({ tokenHash: digest(token), accountId, organisationId, expiresAt })
  return { token, expiresAt }
}

// Counted like a sign-in: a borrowed browser is no place to try passwords.
async function demandPassword(
  { db, env, address, actor }: Pick<Context, 'db' | 'env' | 'address'> & { actor: { id: string; email: string } },
  password: string,
  field: string,
): Promise<void> {
  await createThrottle(db, env.authRateLimit)({ address, email: actor.email }, async () => {
    const [person] = await db.select({ hash: accounts.passwordHash }).from(accounts).where(eq(accounts.id, actor.id))
    if (await verifyPassword(person?.hash ?? null, password)) return
    throw new Failure('unprocessable', {
      errors: [{ path: field, code: 'wrong_password', message: 'This is not your password.' }],
    })
  })
}

// Nobody proves that an address is theirs, and these give power over the whole installation.
function demandFree(env: Context['env'], email: string): void {
  if (!isOperator(env, email)) return
  const message =
    'This is the address of an operator of this installation: `npm run admin -- create-account` makes its account.'
  throw new Failure('email_reserved', { detail: message, errors: [{ path: 'email', code: 'email_reserved', message }] })
}

async function orEmailTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    throw new Failure('email_taken', {
      errors: [{ path: 'email', code: 'email_taken', message: 'There is an account with this address already.' }],
      cause: error,
    })
  }
}
