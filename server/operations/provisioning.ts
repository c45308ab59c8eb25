import { eq, sql } from 'drizzle-orm'
import { organisations } from '../../db/schema/accounts.ts'
import { byCommandLine, record } from '../access/audit.ts'
import { defaultScopes } from '../access/scopes.ts'
import { hashPassword } from '../access/secrets.ts'
import type { Installation } from '../access/trpc.ts'
import { accountByEmail, createAccount, createOrganisation, setPassword } from '../accounts/account.ts'
import { createKey } from '../accounts/api-keys.ts'
import { SignUp } from '../accounts/forms.ts'
import { namesOf, requireHardToGuess } from '../accounts/passwords.ts'
import { storeChannel } from '../channels/rows.ts'
import { Failure } from '../errors.ts'

// What operators create for others: accounts, organisations, channels.

/** Create an account and its organisation. If the e-mail exists, add an organisation to its account. */
export async function createAccountFor(
  { db }: Installation,
  options: { email: string; password: string; organisation: string; name?: string; apiKey?: boolean },
) {
  const wanted = SignUp.parse({
    email: options.email,
    password: options.password,
    organisation: options.organisation,
    name: options.name ?? options.email.split('@')[0],
  })
  const { email, password, name: personName } = wanted
  if (!(await accountByEmail(db, email)))
    await requireHardToGuess(password, { email, names: [personName, wanted.organisation] })
  const passwordHash = await hashPassword(password)
  return db.transaction(async (tx) => {
    const existing = await accountByEmail(tx, email)
    const accountId = existing?.id ?? (await createAccount(tx, { ...wanted, passwordHash }))
    const organisationId = await createOrganisation(tx, wanted.organisation, accountId)
    const made = {
      organisation: { id: organisationId, name: wanted.organisation },
      account: { id: accountId, email: existing?.email ?? email },
      note: existing ? 'This address already had an account. It keeps its name and password.' : undefined,
    }
    if (!options.apiKey) return made
    const name = "Operator's key"
    const { id, key } = await createKey(tx, { organisationId, createdBy: accountId, name, expiresAt: null })
    const event = { action: 'key.created', ...byCommandLine, subject: { id, name } }
    await record(tx, { organisationId, ...event, detail: { scopes: defaultScopes } })
    return { ...made, apiKey: key }
  })
}

/** Connect a channel of a network that needs only a form. Throws `not_found`, and ConnectError when the network refuses. */
export async function connectChannel(
  installation: Installation,
  key: string,
  options: { organisation: string; name?: string; set?: string[] },
) {
  const network = installation.networks[key]
  if (network?.connecting.by !== 'form')
    throw new Failure('not_found', { detail: `${key} is not a network that connects without a browser.` })
  const [organisation] = await installation.db
    .select()
    .from(organisations)
    .where(eq(sql`${organisations.id}::text`, options.organisation))
  if (!organisation) throw new Failure('not_found', { detail: `Organisation ${options.organisation} not found.` })
  const given = Object.fromEntries(
    (options.set ?? []).map((pair) => [pair.split('=')[0], pair.slice(pair.indexOf('=') + 1)]),
  )
  const account = await network.connecting.connect(
    { ...given, ...(options.name ? { name: options.name } : {}) },
    installation.outbound,
  )
  return storeChannel({ ...installation, organisationId: organisation.id }, { network: key, account }, byCommandLine)
}

/** Set a new password and end every session of the account. Throws `not_found`. */
export async function resetPassword(
  { db, env }: Installation,
  { email, password }: { email: string; password: string },
) {
  const person = await accountByEmail(db, email)
  if (!person) throw new Failure('not_found', { detail: `No account has the e-mail address ${email}.` })
  const wanted = SignUp.shape.password.parse(password)
  await requireHardToGuess(wanted, { email: person.email, names: await namesOf(db, person) })
  await db.transaction((tx) => setPassword(tx, env, person.id, wanted))
  return { account: { id: person.id, email: person.email } }
}
