import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { readEnv } from '../../../db/env.ts'
import { memberships, type Role, sessions } from '../../../db/schema/accounts.ts'
import type { Actor } from '../../../server/access/credentials.ts'
import { digest, mintToken } from '../../../server/access/secrets.ts'
import type { Installation } from '../../../server/access/trpc.ts'
import type { Begun, Consent } from '../../../server/oauth/authorize.ts'
import type { Api } from '../../../server/router.ts'
import { install } from '../../../server/run/installation.ts'
import { anOrganisation } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'
import { startWeb, testSite } from '../../processes.ts'
import { apiAs } from '../web.ts'

/** Somebody who is signed in: the owner of an organisation, unless made otherwise. `cookie` is their browser's. */
export type Person = { organisationId: string; accountId: string; api: Api; cookie: string }

/** An app as its developer knows it. */
export type TestApp = { id: string; clientId: string; clientSecret: string; name: string; redirectUri: string }

/** How the consent is answered: for which organisation and channels, and whether. */
export type Word = { organisationId?: string; channelIds?: string[]; decision?: 'approve' | 'deny' }

export const Callback = 'https://shop.example/callback'

/**
 * An installation with the maker of an app, and the person who approves it for an organisation of theirs.
 *
 * The API is on another host than the pages unless `hosts: 'one'`; `web: false` starts no process: procedures only.
 * `env` overrides variables.
 */
export async function openFlow({
  hosts = 'two',
  web = true,
  env = {},
}: {
  hosts?: 'one' | 'two'
  web?: boolean
  env?: Record<string, string>
} = {}) {
  const database = await testDatabase({ connections: 10 })
  const site = await testSite(database.url, env)
  const baseUrl = hosts === 'two' ? `http://127.0.0.1:${site.port}` : site.appUrl
  site.env.BASE_URL = baseUrl
  const process = web ? await startWeb(site) : null
  const { installation, end } = await install(readEnv(site.env))
  const maker = await aPerson(installation, 'Maker')
  const approver = await aPerson(installation, 'Shop')
  return {
    ...{ db: database.db, site, installation, baseUrl, appUrl: site.appUrl, maker, approver },
    app: await anApp(maker),
    log: () => process?.log() ?? '',
    async end() {
      await Promise.all([process?.stop(), end()])
      await site.end()
      await database.end()
    },
  }
}

export type Flow = Awaited<ReturnType<typeof openFlow>>

/** An organisation with somebody of `role` in it, signed in. */
export async function aPerson(installation: Installation, name: string, role: Role = 'owner'): Promise<Person> {
  const { organisationId, accountId } = await anOrganisation(installation.db, name)
  if (role !== 'owner')
    await installation.db.update(memberships).set({ role }).where(eq(memberships.accountId, accountId))
  return signIn(installation, organisationId, accountId, role)
}

/** A new session of an account. */
export async function signIn(
  installation: Installation,
  organisationId: string,
  accountId: string,
  role: Role = 'owner',
): Promise<Person> {
  const sessionId = randomUUID()
  const token = mintToken()
  await installation.db.insert(sessions).values({
    ...{ id: sessionId, tokenHash: digest(token), accountId, organisationId },
    expiresAt: new Date(Date.now() + 3_600_000),
  })
  const actor: Actor = {
    ...{
      kind: 'member',
      isSuspended: false,
      id: accountId,
      name: 'Ada',
      email: 'ada@example.org',
      timeZone: 'UTC',
      weekStart: null,
      clock: null,
    },
    ...{ sessionId, organisationId, role },
  }
  return { organisationId, accountId, api: apiAs(installation, actor), cookie: `session=${token}` }
}

/** Register an app with these redirect URLs. */
export async function anApp(
  { api }: Person,
  redirectUris: string[] = [Callback],
  name = 'Shop window',
): Promise<TestApp> {
  const { id, clientId, clientSecret } = await api.apps.create({ name, redirectUris })
  return { id, clientId, clientSecret, name, redirectUri: redirectUris[0]! }
}

/** The query of a good request, with `changes` on top; undefined takes a parameter away. */
export function queryFor(app: TestApp, changes: Record<string, string | undefined> = {}): string {
  const all = { client_id: app.clientId, response_type: 'code', state: 's', ...changes }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return new URLSearchParams(given).toString()
}

/** What GET /oauth/authorize?query answers to nobody in particular. */
export function begin({ installation }: Flow, query: string): Promise<Begun> {
  return apiAs(installation, null).authorize.begin({ query })
}

/** What the approver sees. */
export async function consentTo(query: string, person: Person): Promise<Consent> {
  const begun = await person.api.authorize.begin({ query })
  if (begun.kind !== 'consent') throw new Error(`Not a consent page: ${JSON.stringify(begun)}`)
  return begun.consent
}

/** Ask the approver and have them say yes: where their browser goes. */
export async function approved(
  flow: Flow,
  query: string,
  { decision = 'approve', ...word }: Word = {},
  person: Person = flow.approver,
): Promise<URL> {
  const { request } = await consentTo(query, person)
  const { url } = await person.api.authorize.decide({ request, decision, ...word })
  return new URL(url)
}

/** The same over HTTP, as a browser does it: the page that was shown, the answer to its form, and where that leads. */
export async function browsed(
  { appUrl, approver }: Flow,
  query: string,
  { decision = 'approve', channelIds = [], ...word }: Word = {},
): Promise<{ page: Answer; answer: Answer; url: URL }> {
  const address = `${appUrl}/oauth/authorize?${query}`
  const page = await send(address, { headers: { cookie: approver.cookie } })
  const hidden = page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)
  const form = new URLSearchParams([...hidden].map(([, name, value]): [string, string] => [name!, value!]))
  const chosen = { decision, reach: channelIds.length > 0 ? 'some' : 'all', ...word }
  for (const [name, value] of Object.entries(chosen)) form.set(name, value)
  for (const id of channelIds) form.append('channelIds', id)
  const headers = { cookie: approver.cookie, origin: appUrl }
  const answer = await send(address, { method: 'POST', body: form, headers })
  if (answer.status !== 303) throw new Error(`No way back to the app: ${page.status}, ${answer.status}`)
  return { page, answer, url: new URL(answer.headers.get('location')!) }
}

/** A fresh code, for the plainest request unless `query` says otherwise. */
export async function aCode(flow: Flow, app: TestApp = flow.app, word: Word = {}, query = queryFor(app)) {
  return (await approved(flow, query, word)).searchParams.get('code')!
}

/** A fresh access token. */
export async function aToken(flow: Flow, app: TestApp = flow.app, word: Word = {}, query = queryFor(app)) {
  const answer = await exchange(flow, app, await aCode(flow, app, word, query))
  if (answer.status !== 200) throw new Error(`No token: ${answer.text}`)
  return answer.json.access_token as string
}

/** An answer of an endpoint. `json` is null where the body is none. */
// biome-ignore lint/suspicious/noExplicitAny: a test says by its assertions what it expects of the body
export type Answer = { status: number; headers: Headers; text: string; json: any }

export async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, json: isJson && text ? JSON.parse(text) : null }
}

/** POST a form to one of the OAuth endpoints. */
export function post(
  { baseUrl }: Pick<Flow, 'baseUrl'>,
  path: string,
  form: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(form).toString()
  return send(`${baseUrl}/oauth/${path}`, { method: 'POST', body, headers: { ...type, ...headers } })
}

export function credentials({ clientId, clientSecret }: TestApp) {
  return { client_id: clientId, client_secret: clientSecret }
}

export function basic({ clientId, clientSecret }: TestApp): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
}

export function exchange(flow: Flow, app: TestApp, code: string, more: Record<string, string> = {}): Promise<Answer> {
  return post(flow, 'token', { grant_type: 'authorization_code', code, ...credentials(app), ...more })
}

/** GET /public/v1/me with a token. */
export function me({ baseUrl }: Pick<Flow, 'baseUrl'>, token: string): Promise<Answer> {
  return send(`${baseUrl}/public/v1/me`, { headers: { authorization: `Bearer ${token}` } })
}

/** The digest under which a code or a token is kept. */
export function hashOf(secret: string): Buffer {
  return Buffer.from(digest(secret))
}
