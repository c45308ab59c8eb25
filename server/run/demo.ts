import { setTimeout as sleep } from 'node:timers/promises'
import { and, eq } from 'drizzle-orm'
import { InstallationError } from '../../db/embedded/installation.ts'
import { EnvError, readEnv, variablesWith } from '../../db/env.ts'
import { createLog, print } from '../../db/log.ts'
import { apiKeys, memberships } from '../../db/schema/accounts.ts'
import { channels } from '../../db/schema/channels.ts'
import { onStopSignals } from '../../db/stop-signals.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { byCommandLine } from '../access/audit.ts'
import { hashPassword, mintName } from '../access/secrets.ts'
import type { Installation } from '../access/trpc.ts'
import { accountByEmail, createAccount, createOrganisation, setPassword } from '../accounts/account.ts'
import { createKey } from '../accounts/api-keys.ts'
import { storeChannel } from '../channels/rows.ts'
import { install } from './installation.ts'
import { type Running, startAll } from './start.ts'

// `npm run demo`: shows the whole product in half a minute, then leaves a site to click through.

const Email = 'demo@example.org'
const AheadMs = 5000
const PatienceMs = 60_000

async function main(): Promise<void> {
  const quiet = { LOG_LEVEL: 'warn' }
  const running = await startAll(quiet, createLog('start', 'warn'))
  stopOnSignal(running)
  await running.isReady
  const { installation, end } = await install(readEnv(variablesWith({ ...quiet, APP_URL: running.appUrl })))
  const { key, channelId, password } = await demoOrganisation(installation)
  await end()

  const due = new Date(Date.now() + AheadMs)
  const api = `${installation.env.baseUrl}/public/v1`
  const headers = { authorization: key, 'content-type': 'application/json' }
  const content = `Scheduled through the API at ${new Date().toISOString()}.`
  const body = JSON.stringify({ type: 'schedule', date: due.toISOString(), content, channelIds: [channelId] })
  const scheduled = await answerOf(await fetch(`${api}/posts`, { method: 'POST', headers, body }))
  print(`Scheduled  POST ${api}/posts answered 201 with post ${scheduled.id}`)
  const post = await untilPublished(() => fetch(`${api}/posts/${scheduled.id}`, { headers }))
  const [delivery] = post.deliveries
  const lateMs = Date.parse(delivery!.publishedAt!) - due.getTime()
  print(`Due        ${due.toISOString()}`)
  print(`Published  ${delivery!.publishedAt}, ${lateMs} ms after its due time`)
  print(`Read it    ${delivery!.url}`)
  print(`Sign in    ${running.appUrl}/login as ${Email} with the password ${password}`)
  print('The site stays up until Ctrl-C.')
}

/** The demo's account, organisation and feed, created once. Its key and password are new each time. */
async function demoOrganisation(
  installation: Installation,
): Promise<{ key: string; channelId: string; password: string }> {
  const { db, env } = installation
  const password = mintName()
  const accountId = (await accountByEmail(db, Email))?.id ?? (await newAccount(installation))
  await db.transaction((tx) => setPassword(tx, env, accountId, password))
  const [membership] = await db.select().from(memberships).where(eq(memberships.accountId, accountId))
  const organisationId = membership!.organisationId
  const isDemoKey = and(eq(apiKeys.organisationId, organisationId), eq(apiKeys.name, 'demo'))
  await db.update(apiKeys).set({ revokedAt: new Date() }).where(isDemoKey)
  const { key } = await createKey(db, { organisationId, createdBy: accountId, name: 'demo', expiresAt: null })
  return { key, channelId: await demoFeed(installation, organisationId), password }
}

async function newAccount({ db }: Installation): Promise<string> {
  const passwordHash = await hashPassword(mintName())
  return db.transaction(async (tx) => {
    const accountId = await createAccount(tx, { name: 'Demo', email: Email, passwordHash })
    await createOrganisation(tx, 'Demo', accountId)
    return accountId
  })
}

async function demoFeed(installation: Installation, organisationId: string): Promise<string> {
  const [existing] = await installation.db
    .select({ id: channels.id })
    .from(channels)
    .where(
      and(eq(channels.organisationId, organisationId), eq(channels.network, 'feed'), eq(channels.status, 'active')),
    )
  if (existing) return existing.id
  const { connecting } = installation.networks.feed!
  if (connecting.by !== 'form') throw new Error('A feed is connected by a form')
  const account = await connecting.connect({ name: 'Demo feed' }, installation.outbound)
  const channel = await storeChannel({ ...installation, organisationId }, { network: 'feed', account }, byCommandLine)
  return channel.id
}

async function untilPublished(ask: () => Promise<Response>): Promise<Post> {
  for (const end = performance.now() + PatienceMs; performance.now() < end; await sleep(200)) {
    const post = await answerOf(await ask())
    if (post.status === 'PUBLISHED') return post
    if (post.status !== 'SCHEDULED' && post.status !== 'PUBLISHING')
      throw new Error(`The post ended ${post.status}: ${JSON.stringify(post.deliveries)}`)
  }
  throw new Error(`The post was not published within ${PatienceMs / 1000} s.`)
}

async function answerOf(response: Response): Promise<Post> {
  if (!response.ok) throw new Error(`The API answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Post
}

function stopOnSignal(running: Running): void {
  onStopSignals(async (times) => {
    await (times === 1 ? running.stop() : running.kill())
    process.exit(times === 1 ? 0 : 1)
  })
}

main().catch((error: unknown) => {
  const isSentence = error instanceof EnvError || error instanceof InstallationError
  print(isSentence ? error.message : ((error as Error).stack ?? String(error)), process.stderr)
  process.exit(1)
})
