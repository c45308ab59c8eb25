import { eq } from 'drizzle-orm'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memberships } from '../../db/schema/accounts.ts'
import { aKeyOfAllScopes, someDeliveries } from '../builders.ts'
import { type Site, startWeb, testSite, until } from '../processes.ts'
import { statesOf, type World, world } from '../world.ts'
import { assertInvariants } from './invariants.ts'

const Posts = 1000
const Channels = 25
const SendMs = 500 // so that the restarts happen during sends
const CallsAtOnce = 4

let w: World
let key: string
beforeAll(async () => {
  w = await world()
  const { organisationId } = w
  const [member] = await w.db.select().from(memberships).where(eq(memberships.organisationId, organisationId))
  key = await aKeyOfAllScopes(w.db, { organisationId, accountId: member!.accountId })
})
afterAll(() => w.end())

/** Web processes behind a proxy. It calls only ready ones, and calls another one when a connection fails. */
class Proxied {
  readonly #sites: Site[]
  readonly #ready = new Set<string>()
  readonly #agent = new Agent()
  #turn = 0
  #over = false

  constructor(sites: Site[]) {
    this.#sites = sites
    void this.#watch()
  }

  async call(path: string, body?: unknown): Promise<{ status: number; retryAfter: string | undefined }> {
    for (;;) {
      const ready = [...this.#ready]
      if (ready.length === 0) throw new Error('No web process is ready.')
      try {
        const {
          statusCode,
          headers,
          body: answer,
        } = await request(`${ready[this.#turn++ % ready.length]}${path}`, {
          dispatcher: this.#agent,
          method: body ? 'POST' : 'GET',
          headers: { authorization: key, 'content-type': 'application/json' },
          body: body ? JSON.stringify(body) : null,
        })
        await answer.dump()
        return { status: statusCode, retryAfter: headers['retry-after'] as string | undefined }
      } catch (error) {
        // Refused, or reset before it was accepted: nothing was sent.
        if ((error as { syscall?: string }).syscall !== 'connect') throw error
      }
    }
  }

  async end(): Promise<void> {
    this.#over = true
    await this.#agent.destroy()
  }

  async #watch(): Promise<void> {
    while (!this.#over) {
      for (const { appUrl } of this.#sites) {
        const isReady = await fetch(`${appUrl}/readyz`, { headers: { connection: 'close' } }).then(
          ({ ok }) => ok,
          () => false,
        )
        if (isReady) this.#ready.add(appUrl)
        else this.#ready.delete(appUrl)
      }
      await new Promise((done) => setTimeout(done, 100))
    }
  }
}

test('a rolling restart of web and workers while 1,000 posts go out and the API is called: nothing fails, nothing is lost or sent twice', async ({
  onTestFinished,
}) => {
  const sites = await Promise.all([besides(w.site), besides(w.site)])
  const webs = await Promise.all(sites.map(startWeb))
  const workers = [await w.worker(), await w.worker()]
  const channelIds = await Promise.all(Array.from({ length: Channels }, () => w.channel('keyed')))
  const proxied = new Proxied(sites)
  let over = false
  let calling: Promise<unknown> = Promise.resolve()
  onTestFinished(async () => {
    over = true
    await Promise.allSettled([calling])
    await proxied.end()
    await Promise.all(webs.map((web) => web.stop()))
    await Promise.all(sites.map((site) => site.end()))
  })
  await until(async () =>
    proxied.call('/public/v1/me').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )

  const { organisationId } = w
  const dueAt = new Date(Date.now() + 1000)
  w.fake.behave = (_request, { show, reply }) => void setTimeout(() => reply(200, { id: show() }), SendMs)
  const ids = await someDeliveries(
    w.db,
    Array.from({ length: Posts }, (_, i) => ({ organisationId, channelId: channelIds[i % Channels]!, dueAt })),
  )
  const answers: { status: number; retryAfter: string | undefined }[] = []
  calling = Promise.all(
    Array.from({ length: CallsAtOnce }, async (_, n) => {
      const date = new Date(Date.now() + 86_400_000).toISOString()
      const post = { type: 'schedule', date, content: 'later', channelIds: [channelIds[n]] }
      for (let i = 0; !over; i++) answers.push(await proxied.call('/public/v1/posts', i % 2 ? post : undefined))
    }),
  )

  await until(() => w.fake.received.length > 50)
  const left: number[] = []
  for (const i of [0, 1]) {
    expect(await workers[i]!.stop()).toBe(0)
    workers[i] = await w.worker()
    expect(await webs[i]!.stop()).toBe(0)
    webs[i] = await startWeb(sites[i]!)
    left.push((await statesOf(w.db, ids)).filter((state) => state !== 'published').length)
  }
  expect(left[0]).toBeGreaterThan(0) // else the second restarts would have nothing to do
  await until(async () => (await statesOf(w.db, ids)).every((state) => state === 'published'))
  over = true
  await calling

  const failed = answers.filter(({ status, retryAfter }) => status >= 400 && !(status === 503 && retryAfter))
  expect(failed).toEqual([])
  process.stdout.write(
    `${answers.length} calls while all was restarted, ${answers.filter(({ status }) => status === 503).length} told to come back; posts still to go out after each round: ${left.join(', ')}\n`,
  )
  expect(w.fake.posts).toHaveLength(Posts)
  await assertInvariants(w)
})

/** The same installation on another port. */
async function besides({ databaseUrl, env }: Site): Promise<Site> {
  return testSite(databaseUrl, { SECRET_KEYS: env.SECRET_KEYS!, DATA_DIR: env.DATA_DIR! })
}
