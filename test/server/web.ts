import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { readEnv } from '../../db/env.ts'
import { memberships, type Role } from '../../db/schema/accounts.ts'
import type { Networks } from '../../jobs/networks/registry.ts'
import type { Actor } from '../../server/access/credentials.ts'
import type { Installation } from '../../server/access/trpc.ts'
import { type Api, apiFor } from '../../server/router.ts'
import { install } from '../../server/run/installation.ts'
import { aChannel, aKeyOfAllScopes, anOrganisation } from '../builders.ts'
import { testDatabase } from '../postgres/database.ts'
import { startWeb, testSite } from '../processes.ts'
import { type World, world } from '../world.ts'

/** An answer of the public API. `json` is null where the body is none. */
// biome-ignore lint/suspicious/noExplicitAny: a test says by its assertions what it expects of the body
export type Answer = { status: number; headers: Headers; text: string; json: any }

/** `json` or `body` is sent; `json` with its content type. */
export type Call = { key?: string; json?: unknown; body?: BodyInit; headers?: Record<string, string> }

/** A database and a web process on it, one organisation with a key that may do all, and the procedures in this process. */
export async function openWeb(extra: Record<string, string> = {}) {
  const database = await testDatabase()
  const site = await testSite(database.url, extra)
  const web = await startWeb(site)
  const { installation, end } = await install(readEnv(site.env))
  const made = await anOrganisation(database.db)
  const own = { ...made, key: await aKeyOfAllScopes(database.db, made) }
  return {
    db: database.db,
    site,
    web,
    installation,
    ...own,
    /** Call the public API, with the organisation's own key unless another is given; `key: ''` sends none. */
    call: (method: string, path: string, options: Call = {}) =>
      callApi(site.appUrl, method, path, { key: own.key, ...options }),
    channel: (organisationId = own.organisationId) =>
      aChannel(database.db, site.secretKey, { organisationId, network: 'feed' }),
    async end() {
      await Promise.all([web.stop(), end()])
      await site.end()
      await database.end()
    },
  }
}

export type Web = Awaited<ReturnType<typeof openWeb>>

/** A second web process on the database of `w`. It ends before `w` does. */
export async function openBeside(w: Web, extra: Record<string, string> = {}) {
  const site = await testSite(w.site.databaseUrl, extra)
  const web = await startWeb(site)
  return {
    site,
    web,
    async end() {
      await web.stop()
      await site.end()
    },
  }
}

export type Beside = Awaited<ReturnType<typeof openBeside>>

/** What openWeb opens, with a channel, for all tests of a file: filled before the first, ended after the last. */
export function webWithChannel(): Web & { channelId: string } {
  const w = {} as Web & { channelId: string }
  beforeAll(async () => {
    Object.assign(w, await openWeb())
    w.channelId = await w.channel()
  })
  afterAll(() => w.end())
  return w
}

export async function callApi(appUrl: string, method: string, path: string, options: Call): Promise<Answer> {
  const { key, json, body, headers = {} } = options
  const response = await fetch(`${appUrl}/public/v1${path}`, {
    method,
    headers: {
      ...(key ? { authorization: key } : {}),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? (body === undefined ? {} : { body }) : { body: JSON.stringify(json) }),
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, json: isJson && text ? JSON.parse(text) : null }
}

/** The procedures as `actor` (null: nobody) calls them from a page. */
export function apiAs(installation: Installation, actor: Actor | null): Api {
  const log = pino({ level: 'silent' })
  return apiFor({ ...installation, actor, log, address: '127.0.0.1', idempotency: null })
}

/** The member that an account is in an organisation, given `role` there. */
export async function memberWith(
  { db }: Pick<Installation, 'db'>,
  { organisationId, accountId }: { organisationId: string; accountId: string },
  role: Role = 'owner',
): Promise<Extract<Actor, { kind: 'member' }>> {
  await db.update(memberships).set({ role }).where(eq(memberships.accountId, accountId))
  return {
    ...{ kind: 'member', isSuspended: false, id: accountId, organisationId, role, name: 'Ada' },
    ...{ timeZone: 'UTC', weekStart: null, clock: null },
    email: 'ada@example.org',
    sessionId: organisationId, // no session of this id exists
  }
}

/** The documented shape of a failure (RFC 9457), of this status and code. */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, ...answer.json }).toMatchObject({ status, code })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.json).toEqual({
    type: expect.stringMatching(new RegExp(`^http://localhost:\\d+/docs/errors#${code}$`)),
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S/),
    code,
    requestId: answer.headers.get('x-request-id'),
    errors: expect.any(Array),
  })
  const [first] = answer.json.errors
  if (first) expect(answer.json.detail).toContain(first.message) // many who call log nothing else
  for (const fault of answer.json.errors)
    expect(fault).toEqual({
      path: expect.any(String),
      code: expect.stringMatching(/^[a-z_]+$/),
      message: expect.any(String),
    })
}

/** Each fault as `path code`. */
export function faultsOf({ json }: Answer): string[] {
  return json.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`)
}

/** The procedures as the owner of a world's organisation calls them, on its networks and those of `more`. */
export async function ownerIn({ db, site, organisationId }: World, more: Networks = {}) {
  const { installation, end: close } = await install(readEnv(site.env))
  const [membership] = await db.select().from(memberships).where(eq(memberships.organisationId, organisationId))
  const member = await memberWith(installation, { organisationId, accountId: membership!.accountId })
  return { api: apiAs({ ...installation, networks: { ...installation.networks, ...more } }, member), close }
}

/** A world with its owner's procedures for all tests of a file; its workers rest after each. */
export function worldWithOwner(): World & { api: Api } {
  const w = {} as World & { api: Api }
  let close: () => Promise<void>
  beforeAll(async () => {
    Object.assign(w, await world())
    ;({ api: w.api, close } = await ownerIn(w))
  })
  afterEach(() => w.rest())
  afterAll(async () => {
    await close()
    await w.end()
  })
  return w
}

/** How a procedure ended: `done`, or the code of its failure. */
export function failureOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'done',
    (error: { failure?: string }) => error.failure ?? String(error),
  )
}
