import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { sql } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { media } from '../../../db/schema/media.ts'
import { storedBytes } from '../../../server/media/uploads.ts'
import { anOrganisation } from '../../builders.ts'
import { listening } from '../../jobs/outbound/loopback.ts'
import { until } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { type Answer, type Beside, callApi, expectProblem, openBeside, openWeb, type Web } from '../web.ts'

const KB = 1024
const Quota = 200 * KB
const GoalMs = 50 // for the sum of 100,000

let w: Web
let beside: Beside
let unbounded: Beside
beforeAll(async () => {
  w = await openWeb({ STORAGE_QUOTA: '200KB', AUTH_RATE_LIMIT: '0' })
  beside = await openBeside(w, { STORAGE_QUOTA: '200KB' })
  unbounded = await openBeside(w, { STORAGE_QUOTA: '0' })
})
afterEach(async () => {
  await until(async () => (await w.db.execute(sql`select from uploads`)).length === 0)
  await w.db.delete(media)
})
afterAll(async () => {
  await unbounded.end()
  await beside.end()
  await w.end()
})

/** A picture of noise, which no compression makes smaller: of about 48 KB, and no two are the same. */
async function aPicture(): Promise<Buffer<ArrayBuffer>> {
  const raw = { width: 128, height: 128, channels: 3 } as const
  return Buffer.from(
    await sharp(randomBytes(128 * 128 * 3), { raw })
      .png()
      .toBuffer(),
  )
}
const somePictures = (count: number) => Promise.all(Array.from({ length: count }, aPicture))

const formOf = (picture: Buffer<ArrayBuffer>) => {
  const form = new FormData()
  form.append('file', new Blob([picture]))
  return form
}
const send = (picture: Buffer<ArrayBuffer>, { at = w.site.appUrl, key = w.key } = {}) =>
  callApi(at, 'POST', '/media', { key, body: formOf(picture) })

async function sourceOf(pictures: Buffer[]) {
  const { origin } = await listening(createServer((req, res) => res.end(pictures[Number(req.url?.slice(1))])))
  return origin
}
const fetchFrom = (url: string, at = w.site.appUrl) =>
  callApi(at, 'POST', '/media/upload-from-url', { key: w.key, json: { url } })

async function stored(): Promise<number> {
  const [row] = await w.db.execute<{ bytes: number }>(sql`
    select coalesce(sum(bytes), 0)::float8 as bytes from media where organisation_id = ${w.organisationId}`)
  return row!.bytes
}
const filesOn = async (dataDir: string) =>
  (await readdir(join(dataDir, 'files'), { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).length

function expectFull(answer: Answer): void {
  expectProblem(answer, 422, 'storage_full')
  expect(answer.json.detail).toMatch(/^Your organisation uses [\d.]+ KB of its 200 KB of storage.*Delete files/)
}

test('what does not fit any more is refused at both doors with how much is used, and a deletion frees its bytes', async () => {
  const pictures = await somePictures(5)
  const source = await sourceOf(pictures)
  const made: Answer[] = []
  for (const picture of pictures.slice(0, 4)) made.push(await send(picture))
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  expectFull(await send(pictures[4]!))
  expectFull(await fetchFrom(`${source}/4`))
  await until(async () => (await filesOn(w.site.dataDir)) === 8) // of four pictures, each with its thumbnail

  const other = await anOrganisation(w.db)
  expect((await send(pictures[4]!, { key: other.key })).status).toBe(201)
  expect((await w.call('DELETE', `/media/${made[0]!.json.id}`)).status).toBe(204)
  expect((await fetchFrom(`${source}/4`)).status).toBe(201)
})

test.each([
  ['sent', async (picture: Buffer<ArrayBuffer>, at: string) => send(picture, { at })],
  ['fetched', async (picture: Buffer<ArrayBuffer>, at: string) => fetchFrom(`${await sourceOf([picture])}/0`, at)],
])('files %s at the same time to two processes never pass the limit together', async (_way, take) => {
  const pictures = await somePictures(20)
  const answers = await Promise.all(pictures.map((one, i) => take(one, [w, beside][i % 2]!.site.appUrl)))
  for (const answer of answers.filter(({ status }) => status !== 201)) expectFull(answer)
  const taken = answers.filter(({ status }) => status === 201).length
  expect(taken).toBeGreaterThanOrEqual(3)
  expect(await stored()).toBeLessThanOrEqual(Quota)
})

test('a file that is still coming counts, and no longer once its sender has left', async () => {
  const headers = {
    ...{ authorization: w.key, 'content-type': 'multipart/form-data; boundary=x' },
    'content-length': String(190 * KB),
  }
  const half = request(`${w.site.appUrl}/public/v1/media`, { method: 'POST', headers }).on('error', () => {})
  half.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
  await until(async () => (await w.db.execute(sql`select from uploads`)).length === 1)
  const picture = await aPicture()
  expectFull(await send(picture, { at: beside.site.appUrl }))
  half.destroy()
  await until(async () => (await w.db.execute(sql`select from uploads`)).length === 0)
  expect((await send(picture, { at: beside.site.appUrl })).status).toBe(201)
})

test('a file that says it is too large is refused before it is read, one that says nothing as soon as it is', async () => {
  const told = await callApi(w.site.appUrl, 'POST', '/media', {
    ...{ key: w.key, body: formOf(Buffer.from(randomBytes(2 * Quota))) },
  })
  expectFull(told)
  const headers = { authorization: w.key, 'content-type': 'multipart/form-data; boundary=x' }
  const sending = request(`${w.site.appUrl}/public/v1/media`, { method: 'POST', headers }).on('error', () => {})
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  sending.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
  for (let sent = 0; sent < 4 * Quota; sent += 16 * KB) sending.write(randomBytes(16 * KB)) // and no end
  const [answer] = await answered
  expect([answer.statusCode, await json(answer)]).toMatchObject([422, { code: 'storage_full' }])
  sending.destroy()
})

test('without a limit everything is taken', async () => {
  for (const picture of await somePictures(5))
    expect((await send(picture, { at: unbounded.site.appUrl })).status).toBe(201)
  expect(await stored()).toBeGreaterThan(Quota)
  expectFull(await send(await aPicture()))
})

test('the composer shows the same sentence', async () => {
  const browser = aBrowser(w.site.appUrl)
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  expect((await browser.post('/signup', ada)).status).toBe(302)
  const headers = { origin: w.site.appUrl, cookie: browser.jar.cookie }
  const answers: { status: number; problem?: string }[] = []
  for (const picture of await somePictures(5)) {
    const answer = await fetch(`${w.site.appUrl}/media`, { method: 'POST', body: formOf(picture), headers })
    answers.push({ status: answer.status, ...((await answer.json()) as object) })
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 422])
  expect(answers.at(-1)!.problem).toMatch(/^Your organisation uses 19\d(\.\d)? KB of its 200 KB/)
})

test('the sum of 100,000 media is read from one index', async () => {
  const { organisationId } = await anOrganisation(w.db)
  await w.db.execute(sql`
    insert into media (id, organisation_id, kind, mime, bytes, sha256, file_key, created_at)
    select gen_random_uuid(), case when no % 2 = 0 then ${organisationId}::uuid else ${w.organisationId}::uuid end, 'image', 'image/png',
      no, md5(no::text), md5(no::text), now() - make_interval(secs => no)
    from generate_series(1, 200000) as no`)
  await until(async () => {
    await w.db.execute(sql`vacuum analyze media`) // marks only what no older transaction may miss
    const marked = sql`select from pg_class where oid = 'media'::regclass and relallvisible >= relpages * 0.99`
    return (await w.db.execute(marked)).length > 0
  })
  const rows = await w.db.execute<{ 'QUERY PLAN': string }>(
    sql`explain (analyze, buffers) select ${storedBytes(organisationId)}`,
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  const ms = Number(/Execution Time: ([\d.]+) ms/.exec(plan)![1])
  // biome-ignore lint/suspicious/noConsole: the run says what it measured
  console.log(`${plan}`)
  expect(plan).toContain('Index Only Scan using media_storage')
  expect(ms).toBeLessThan(10 * GoalMs)
})
