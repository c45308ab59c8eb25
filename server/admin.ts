import { Command } from 'commander'
import { eq, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { NotRunning, startEmbedded } from '../db/embedded.ts'
import { type Env, readEnv } from '../db/env.ts'
import { isMigrated, migrate } from '../db/migrate.ts'
import { organisations } from '../db/schema.ts'
import { ConnectError } from '../jobs/networks/network.ts'
import { accountByEmail, createAccount, createOrganisation, setPassword } from './account.ts'
import { record } from './activity.ts'
import { storeChannel } from './channels.ts'
import { Failure } from './errors.ts'
import { defaultScopes, SignUp } from './forms.ts'
import { install } from './installation.ts'
import { createKey } from './keys.ts'
import { retryPost } from './posts.ts'
import { hashPassword } from './secrets.ts'
import type { Installation } from './trpc.ts'

// The operator's commands: each prints one JSON value on standard output, and nothing else there.

type Work = (installation: Installation) => Promise<unknown>

const program = new Command('npm run admin --').description("Punctual's commands for operators. Each prints JSON.")

program
  .command('create-account')
  .description('Make an account and its organisation; on an e-mail that exists, add an organisation to it.')
  .requiredOption('--email <address>')
  .requiredOption('--password <password>', 'of a new account; that of an existing one stays')
  .requiredOption('--organisation <name>')
  .option('--name <name>', "the person's name")
  .option('--api-key', 'also make an API key for the organisation')
  .action((options) => perform((installation) => createAccountFor(installation, options)))
program
  .command('connect <network>')
  .description('Connect a channel of a network that needs no browser: feed, bluesky.')
  .requiredOption('--organisation <id>')
  .option('--name <name>', 'the same as --set name=NAME')
  .option('--set <key=value...>', "what the network's form asks for")
  .action((network, options) => perform((installation) => connectChannel(installation, network, options)))
program
  .command('reset-password')
  .description('Set a new password and sign the account out everywhere.')
  .requiredOption('--email <address>')
  .requiredOption('--password <password>')
  .action((options) => perform((installation) => resetPassword(installation, options)))
program
  .command('overdue')
  .description('Deliveries past their hour that have not gone out, oldest first.')
  .option('--limit <n>', 'how many', '100')
  .action((options) => perform((installation) => overdue(installation, Number(options.limit))))
program
  .command('show <id>')
  .description('All that is known of a delivery, or of all of a post: the ledger row, its attempts, its channel.')
  .action((id) => perform((installation) => show(installation, id)))
program
  .command('retry <delivery>')
  .description('Send a failed delivery again, now.')
  .action((id) => perform((installation) => retry(installation, id)))

await program.parseAsync()

async function createAccountFor(
  { db }: Installation,
  options: { email: string; password: string; organisation: string; name?: string; apiKey?: boolean },
) {
  const wanted = SignUp.parse({
    email: options.email,
    password: options.password,
    organisation: options.organisation,
    name: options.name ?? options.email.split('@')[0],
  })
  const passwordHash = await hashPassword(wanted.password)
  return db.transaction(async (tx) => {
    const existing = await accountByEmail(tx, wanted.email)
    const accountId = existing?.id ?? (await createAccount(tx, { ...wanted, passwordHash }))
    const organisationId = await createOrganisation(tx, wanted.organisation, accountId)
    const made = {
      organisation: { id: organisationId, name: wanted.organisation },
      account: { id: accountId, email: existing?.email ?? wanted.email },
    }
    if (!options.apiKey) return made
    const name = 'made by the operator'
    const { id, key } = await createKey(tx, { organisationId, createdBy: accountId, name, expiresAt: null })
    const operator = { kind: 'operator', id: null, name: 'at the command line' } as const
    const deed = { action: 'key.created', by: operator, address: null, subject: { id, name } }
    await record(tx, { organisationId, ...deed, detail: { scopes: defaultScopes } })
    return { ...made, apiKey: key }
  })
}

async function connectChannel(
  installation: Installation,
  key: string,
  options: { organisation: string; name?: string; set?: string[] },
) {
  const network = installation.networks[key]
  if (network?.connecting.by !== 'form')
    throw new Failure('not_found', { detail: `No network named ${key} is connected without a browser.` })
  const [organisation] = await installation.db
    .select()
    .from(organisations)
    .where(eq(sql`${organisations.id}::text`, options.organisation))
  if (!organisation) throw new Failure('not_found', { detail: `There is no organisation ${options.organisation}.` })
  const given = Object.fromEntries(
    (options.set ?? []).map((pair) => [pair.split('=')[0], pair.slice(pair.indexOf('=') + 1)]),
  )
  const account = await network.connecting.connect(
    { ...given, ...(options.name ? { name: options.name } : {}) },
    installation.outbound,
  )
  return storeChannel({ ...installation, organisationId: organisation.id }, key, account, null)
}

async function resetPassword({ db }: Installation, { email, password }: { email: string; password: string }) {
  const person = await accountByEmail(db, email)
  if (!person) throw new Failure('not_found', { detail: `There is no account with the e-mail ${email}.` })
  const wanted = SignUp.shape.password.parse(password)
  await setPassword(db, person.id, wanted)
  return { account: { id: person.id, email: person.email } }
}

async function overdue({ db }: Installation, limit: number) {
  return db.execute(sql`
    select d.id, d.state, d.due_at as "dueAt", d.next_attempt_at as "nextAttemptAt", d.attempt_no as attempts, d.error,
      extract(epoch from now() - d.due_at)::int as "lateSeconds", c.network, c.name as channel, c.status as "channelStatus",
      d.organisation_id as "organisationId", d.post_id as "postId"
    from deliveries d join channels c on c.id = d.channel_id
    where d.due_at < now() and d.state in ('scheduled', 'claimed', 'sending', 'uncertain', 'held', 'needs_review')
    order by d.due_at, d.id limit ${limit}`)
}

/** A delivery with its attempts, or all of those of a post: the one id that people see on its page. */
async function show({ db }: Installation, id: string) {
  const rows = await db.execute<{ delivery: { id: string } }>(sql`
    select to_jsonb(d) - 'prepared' as delivery,
      (select coalesce(jsonb_agg(to_jsonb(a) order by a.no), '[]') from attempts a where a.delivery_id = d.id) as attempts,
      (select to_jsonb(c) - 'credential' from channels c where c.id = d.channel_id) as channel
    from deliveries d where d.id::text = ${id} or d.post_id::text = ${id} order by d.position, d.id`)
  const [first] = rows
  if (!first) throw new Failure('not_found', { detail: `There is no delivery and no post ${id}.` })
  return first.delivery.id === id ? first : { deliveries: [...rows] }
}

async function retry({ db }: Installation, id: string) {
  const [row] = await db.execute<{ organisationId: string; postId: string; channelId: string }>(sql`
    select organisation_id as "organisationId", post_id as "postId", channel_id as "channelId" from deliveries where id::text = ${id}`)
  if (!row) throw new Failure('not_found', { detail: `There is no delivery ${id}.` })
  return db.transaction((tx) =>
    retryPost(
      tx,
      { kind: 'operator', id: '', name: 'operator', organisationId: row.organisationId },
      row.postId,
      row.channelId,
    ),
  )
}

/** Run one command on the installation; its result, or its failure, is the only thing that is printed. */
async function perform(command: Work): Promise<void> {
  try {
    process.stdout.write(`${JSON.stringify(await onInstallation(readEnv(), command), null, 2)}\n`)
  } catch (error) {
    process.exitCode = 1
    process.stderr.write(`${explain(error)}\n`)
  }
}

// Only these commands may start the embedded database by themselves, and stop it again.
async function onInstallation(env: Env, command: Work): Promise<unknown> {
  try {
    return await onRunning(env, command)
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error
    const embedded = await startEmbedded(env, pino({ level: 'silent' }))
    try {
      await migrate(embedded.installation.databaseUrl)
      return await onRunning(env, command)
    } finally {
      await embedded.stop()
    }
  }
}

async function onRunning(env: Env, command: Work): Promise<unknown> {
  const { installation, end } = await install(env)
  try {
    if (!(await isMigrated(installation.db)))
      throw new Error('The database is older than this version: run `npm run migrate`.')
    return await command(installation)
  } finally {
    await end()
  }
}

function explain(error: unknown): string {
  if (error instanceof Failure)
    return [error.detail, ...error.errors.map(({ path, message }) => `${path}: ${message}`)].join('\n')
  if (error instanceof ConnectError) return error.message
  if (error instanceof Error && error.name === 'ZodError')
    return JSON.parse(error.message)
      .map(({ path, message }: { path: string[]; message: string }) => `--${path.join('.')}: ${message}`)
      .join('\n')
  return error instanceof Error ? error.message : String(error)
}
