import { Command } from 'commander'
import { pino } from 'pino'
import { InstallationError, NotRunning, startEmbedded } from '../../db/embedded/installation.ts'
import { type Env, misspeltSettings, readEnv, variablesWith } from '../../db/env.ts'
import { print } from '../../db/log.ts'
import { isMigrated, migrate } from '../../db/migrate.ts'
import { version } from '../../db/program-version.ts'
import { startupSentence } from '../../db/startup-error.ts'
import { checkInvariants } from '../../jobs/ledger/invariants.ts'
import type { Reach } from '../../jobs/ledger/pause.ts'
import { afterRestore, allowFailover } from '../../jobs/ledger/restore.ts'
import { ConnectError } from '../../jobs/networks/network.ts'
import { atCommandLine } from '../access/audit.ts'
import type { Installation } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { Id } from '../forms.ts'
import { find, organisationsIn, revokeKey } from '../operations/directory.ts'
import { rotateKey } from '../operations/key-rotation.ts'
import { overdue, retry, show } from '../operations/ledger-lookup.ts'
import { goOnSending, limitNetwork, stopSending } from '../operations/pauses.ts'
import { connectChannel, createAccountFor, resetPassword } from '../operations/provisioning.ts'
import { statusOf } from '../operations/status.ts'
import { suspendOrganisation, unsuspendOrganisation } from '../operations/suspension.ts'
import { install } from './installation.ts'
import { withAddresses } from './site-address.ts'
import { typedPassword } from './typed-password.ts'

// The operator's commands: each prints one JSON value on standard output, and nothing else there.

type Work<Result> = (installation: Installation) => Promise<Result>

const PasswordStdin = 'read the password from standard input (the default, unless it is a terminal)'
const PasswordArgument = 'the password: others on this machine can see it, so use standard input instead'

const program = new Command('npm run admin --').description("Punctual's commands for operators. Each prints JSON.")
program.version(version)

program
  .command('create-account')
  .description(
    'Create an account and its organisation. If the e-mail address exists, add an organisation to it. Reads the password from standard input.',
  )
  .requiredOption('--email <address>')
  .option('--password-stdin', PasswordStdin)
  .option('--password <password>', PasswordArgument)
  .requiredOption('--organisation <name>')
  .option('--name <name>', "the person's name")
  .option('--api-key', 'also create an API key for the organisation')
  .action((options) =>
    perform(async (installation) => {
      const password = await typedPassword(options)
      return createAccountFor(installation, { ...options, password })
    }),
  )
program
  .command('connect <network>')
  .description('Connect a channel of a network that needs no browser: feed, bluesky.')
  .requiredOption('--organisation <id>')
  .option('--name <name>', 'the same as --set name=NAME')
  .option('--set <key=value...>', "a field of the network's form")
  .action((network, options) => perform((installation) => connectChannel(installation, network, options)))
program
  .command('reset-password')
  .description('Set a new password, from standard input, and sign the account out everywhere.')
  .requiredOption('--email <address>')
  .option('--password-stdin', PasswordStdin)
  .option('--password <password>', PasswordArgument)
  .action((options) =>
    perform(async (installation) => {
      const password = await typedPassword(options)
      return resetPassword(installation, { ...options, password })
    }),
  )
program
  .command('status')
  .description('Show the whole installation: version, workers, queue, pauses and storage.')
  .action(() => perform(({ db }) => statusOf(db)))
program
  .command('list')
  .description(
    'List all organisations, newest first, with their people, channels, scheduled posts and last publication.',
  )
  .option('--limit <n>', 'how many', '100')
  .option('--cursor <cursor>', 'the nextCursor of the previous page')
  .action(({ limit, cursor }) => perform(async ({ db }) => organisationsIn(db, wholeNumber('--limit', limit), cursor)))
program
  .command('find <text>')
  .description(
    'Find something and its organisation by id, e-mail address, part of a name, or the last four characters of a key.',
  )
  .action((text) => perform(({ db }) => find(db, text)))
program
  .command('revoke-key <id>')
  .description('Revoke an API key at once.')
  .action((id) => perform(({ db }) => revokeKey(db, atCommandLine, id)))
program
  .command('suspend <organisation>')
  .description(
    'Suspend an organisation: we send none of its posts and accept no new posts or files. Its people can read, and its posts are kept.',
  )
  .action((id) => perform(({ db }) => suspendOrganisation(db, atCommandLine, id)))
program
  .command('unsuspend <organisation>')
  .description('End a suspension. Overdue posts then need a decision, unless it lasted less than a minute.')
  .action((id) => perform(({ db }) => unsuspendOrganisation(db, atCommandLine, id)))
program
  .command('overdue')
  .description('List deliveries that are past their due time and have not gone out, oldest first.')
  .option('--limit <n>', 'how many', '100')
  .action((options) => perform(async ({ db }) => overdue(db, wholeNumber('--limit', options.limit))))
program
  .command('show <id>')
  .description('Show a delivery, or all deliveries of a post: the ledger row, the attempts and the channel.')
  .action((id) => perform(({ db }) => show(db, Id.parse(id))))
program
  .command('retry <delivery>')
  .description('Send a failed delivery again, now.')
  .action((id) => perform(({ db }) => retry(db, atCommandLine, Id.parse(id))))
program
  .command('pause [scope] [name]')
  .description(
    'Stop sending: all, network NAME, or channel ID. Posts that are being sent finish. New posts are still accepted.',
  )
  .action((scope, name) =>
    perform(async (installation) => stopSending(installation, atCommandLine, reachOf(scope, name))),
  )
program
  .command('resume [scope] [name]')
  .description('Resume sending: all (also after a restored backup), network NAME, or channel ID. Due posts go out.')
  .action((scope, name) =>
    perform(async (installation) => goOnSending(installation, atCommandLine, reachOf(scope, name))),
  )
program
  .command('limit <network> <n>')
  .description('Limit how many posts all workers together send to a network at once. Type none for no limit.')
  .action((network, n) => perform(async (installation) => limitNetwork(installation, network, boundOf(n))))
program
  .command('after-restore')
  .description('Run this after you restore a backup: it stops sending until resume and marks overdue posts for review.')
  .action(() => perform(({ db }) => db.transaction(afterRestore)))
program
  .command('failover <go-on|stop>')
  .description(
    'Choose what happens after a failover: stop (default) stops sending until resume, go-on keeps sending. Use go-on only with synchronous replication.',
  )
  .action((what) => perform(async ({ db }) => allowFailover(db, isGoOn(what))))
program
  .command('rotate-key')
  .description(
    'Encrypt all stored secrets with the first of SECRET_KEYS. Exits with 1 if none of the keys opens a secret.',
  )
  .action(() => perform(rotateKey, ({ unopened }) => unopened.length === 0))
program
  .command('verify')
  .description('Check the invariants of the ledger. Exits with 1 if one is broken.')
  .action(() => perform(verify, ({ holds }) => holds))

await program.parseAsync()

function reachOf(scope = 'all', name?: string): Reach {
  if (scope === 'all' && name === undefined) return { scope }
  if (scope === 'network' && name !== undefined) return { scope, name }
  if (scope === 'channel' && name !== undefined) return { scope, id: Id.parse(name) }
  throw new Failure('invalid_request', { detail: 'Type all, network NAME or channel ID.' })
}

function boundOf(typed: string): number | null {
  return typed === 'none' ? null : wholeNumber('N', typed, ', or none')
}

function isGoOn(what: string): boolean {
  if (what === 'go-on' || what === 'stop') return what === 'go-on'
  throw new Failure('invalid_request', { detail: 'Type go-on or stop.' })
}

async function verify({ db }: Installation) {
  const invariants = await db.transaction(checkInvariants, {
    isolationLevel: 'repeatable read',
    accessMode: 'read only',
  })
  return { holds: invariants.every(({ broken }) => broken === 0), invariants }
}

function wholeNumber(name: string, typed: string, orElse = ''): number {
  if (!/^[1-9]\d{0,5}$/.test(typed))
    throw new Failure('invalid_request', { detail: `${name} must be a whole number from 1 to 999999${orElse}.` })
  return Number(typed)
}

/**
 * Run one command on the installation and print only its result, or its failure. The process exits
 * with 1 when the command failed, or when `isGood` is false for its result.
 */
async function perform<Result>(command: Work<Result>, isGood: (result: Result) => boolean = () => true): Promise<void> {
  for (const sentence of misspeltSettings()) print(sentence, process.stderr)
  try {
    const result = await onInstallation(readEnv(await withAddresses(variablesWith({}))), command)
    await printResult(`${JSON.stringify(result, null, 2)}\n`)
    if (!isGood(result)) process.exitCode = 1
  } catch (error) {
    process.exitCode = 1
    print(explain(error), process.stderr)
  }
}

// The reader may be gone, as in `| head`, or the disk full. The command is done anyway.
async function printResult(text: string): Promise<void> {
  try {
    await new Promise<void>((done, fail) => {
      process.stdout.once('error', fail).write(text, (error) => (error ? fail(error) : done()))
    })
  } catch (error) {
    throw new InstallationError(`Done, but the result could not be printed: ${(error as Error).message}.`)
  }
}

// Only these commands may start the embedded database and stop it again.
async function onInstallation<Result>(env: Env, command: Work<Result>): Promise<Result> {
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

async function onRunning<Result>(env: Env, command: Work<Result>): Promise<Result> {
  const { installation, end } = await install(env, 'admin')
  try {
    if (!(await isMigrated(installation.db)))
      throw new InstallationError('The database is older than this version: run `npm run migrate`.')
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
      .map(
        ({ path, message }: { path: string[]; message: string }) =>
          `${path.length > 0 ? `--${path.join('.')}: ` : ''}${message}`,
      )
      .join('\n')
  return startupSentence(error)
}
