import { createServer, type RequestListener } from 'node:http'
import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { idempotencyKeys } from '../../../db/schema/api.ts'
import { media } from '../../../db/schema/media.ts'
import { aPhoto } from '../../builders.ts'
import { listening } from '../../jobs/outbound/loopback.ts'
import { type Site, type Started, startWeb, testSite, until } from '../../processes.ts'
import { callApi, expectProblem, openWeb, type Web } from '../web.ts'

let w: Web
let otherSite: Site
let other: Started
let photo: Buffer
beforeAll(async () => {
  w = await openWeb()
  otherSite = await testSite(w.site.databaseUrl)
  other = await startWeb(otherSite)
  photo = await aPhoto()
})
afterAll(async () => {
  await other.stop()
  await otherSite.end()
  await w.end()
})

const fetchUnder = (key: string, json: object, appUrl = w.site.appUrl) =>
  callApi(appUrl, 'POST', '/media/upload-from-url', { key: w.key, json, headers: { 'idempotency-key': key } })
const countOf = async () => (await w.db.select({ id: media.id }).from(media)).length
const rowOf = async (key: string) => (await w.db.select().from(idempotencyKeys).where(eq(idempotencyKeys.key, key)))[0]
const lapse = (key: string) =>
  w.db.update(idempotencyKeys).set({ leaseUntil: sql`now() - interval '1 second'` }).where(eq(idempotencyKeys.key, key))

/** Somebody's server; `asked` counts what came. */
async function elsewhere(listener: RequestListener = (_req, res) => void res.end(photo)) {
  const seen = { asked: 0, url: '' }
  const { origin } = await listening(
    createServer((req, res) => {
      seen.asked++
      listener(req, res)
    }),
  )
  seen.url = `${origin}/photo.png`
  return seen
}

/** A server that answers when it is let. */
async function holding() {
  const gate = Promise.withResolvers<void>()
  const server = await elsewhere((_req, res) => void gate.promise.then(() => res.end(photo)))
  lets.push(gate.resolve)
  return Object.assign(server, { go: gate.resolve })
}
const lets: (() => void)[] = []
afterEach(() => lets.splice(0).forEach((go) => void go()))

test('the same key and body again gets the first answer, status, Location and body, and fetches nothing', async () => {
  const source = await elsewhere()
  const body = { url: source.url, alt: 'A lake' }
  const first = await fetchUnder('same', body)
  const count = await countOf()
  const again = await fetchUnder('same', body)
  expect([first.status, again.status]).toEqual([201, 201])
  expect([again.text, again.headers.get('location')]).toEqual([first.text, first.headers.get('location')])
  expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
  expect([source.asked, await countOf()]).toEqual([1, count])
  expectProblem(await fetchUnder('same', { ...body, alt: 'A sea' }), 422, 'idempotency_key_reused')
})

test('20 at once over two processes fetch once and make one media; the others hear 409 with Retry-After while it runs', async () => {
  const source = await holding()
  const count = await countOf()
  const all = Array.from({ length: 20 }, (_, i) =>
    fetchUnder('crowd', { url: source.url }, i % 2 ? w.site.appUrl : otherSite.appUrl),
  )
  let busy = 0
  for (const one of all)
    void one.then(({ status }) => {
      if (status === 409) busy++
    })
  await until(() => busy === 19)
  source.go()
  const answers = await Promise.all(all)
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  for (const answer of answers.filter(({ status }) => status === 409)) {
    expectProblem(answer, 409, 'idempotency_key_in_use')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect([source.asked, await countOf()]).toEqual([1, count + 1])
  expect(await fetchUnder('crowd', { url: source.url })).toMatchObject({ status: 201 })
  expect(source.asked).toBe(1)
})

test('no transaction is open while it is fetched', async () => {
  const source = await holding()
  const first = fetchUnder('open', { url: source.url })
  await until(() => source.asked === 1)
  const [row] = await w.db.execute<{ open: number }>(
    sql`select count(*)::int as open from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
  )
  source.go()
  expect([row!.open, (await first).status]).toEqual([0, 201])
})

test('a failure frees the key', async () => {
  let isThere = false
  const source = await elsewhere((_req, res) => void (isThere ? res.end(photo) : res.writeHead(404).end()))
  expectProblem(await fetchUnder('mended', { url: source.url }), 422, 'media_fetch_failed')
  isThere = true
  expect((await fetchUnder('mended', { url: source.url })).status).toBe(201)
})

test('a crash frees the key when its lease is over', async () => {
  const site = await testSite(w.site.databaseUrl)
  const doomed = await startWeb(site)
  const source = await holding()
  const lost = fetchUnder('crashed', { url: source.url }, site.appUrl).catch(() => 'lost')
  await until(() => source.asked === 1)
  doomed.kill('SIGKILL')
  expect(await lost).toBe('lost')
  await site.end()
  source.go()

  expectProblem(await fetchUnder('crashed', { url: source.url }), 409, 'idempotency_key_in_use')
  const { leaseUntil } = (await rowOf('crashed'))!
  expect(leaseUntil!.getTime() - Date.now()).toBeLessThan(61_000)
  await lapse('crashed')
  expect((await fetchUnder('crashed', { url: source.url })).status).toBe(201)
})

test('who lost the lease to another makes nothing', async () => {
  const [slow, quick] = [await holding(), await elsewhere()]
  const count = await countOf()
  const first = fetchUnder('lapsed', { url: slow.url })
  await until(() => slow.asked === 1)
  await lapse('lapsed')
  expect((await fetchUnder('lapsed', { url: quick.url })).status).toBe(201)
  slow.go()
  expectProblem(await first, 409, 'idempotency_key_in_use')
  expect(await countOf()).toBe(count + 1)
})
