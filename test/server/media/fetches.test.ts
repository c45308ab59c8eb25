import { readdir } from 'node:fs/promises'
import { createServer, request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { anOrganisation, aPhoto } from '../../builders.ts'
import { listening } from '../../jobs/outbound/loopback.ts'
import { until } from '../../processes.ts'
import { type Beside, callApi, expectProblem, openBeside, openWeb, type Web } from '../web.ts'

const AtOnce = 4
const WaitingAtMost = 20

let w: Web
let beside: Beside
let photo: Buffer
beforeAll(async () => {
  w = await openWeb()
  beside = await openBeside(w)
  photo = await aPhoto()
})
afterAll(async () => {
  await beside.end()
  await w.end()
})

const temporaryFiles = () => readdir(join(w.site.dataDir, 'files/temporary')).catch(() => [])
afterEach(() => until(async () => (await temporaryFiles()).length === 0))

/** Somebody's server, which sends a byte now and then until it is told to send the rest. */
async function dribbling() {
  const open = new Set<ServerResponse>()
  const seen = { url: '', most: 0, asked: 0, open, isSlow: true, finish: () => {} }
  const { origin } = await listening(
    createServer((_req, res) => {
      seen.asked++
      if (!seen.isSlow) return void res.end(photo)
      open.add(res)
      seen.most = Math.max(seen.most, open.size)
      let sent = 0
      const drip = setInterval(() => sent < 20 && res.write(photo.subarray(sent, ++sent)), 50)
      res.once('close', () => clearInterval(drip)).once('close', () => open.delete(res))
      finishers.set(res, () => clearInterval(drip) ?? res.end(photo.subarray(sent)))
    }),
  )
  const finishers = new Map<ServerResponse, () => void>()
  const finish = () => {
    for (const res of open) finishers.get(res)?.()
  }
  return Object.assign(seen, { url: `${origin}/photo.png`, finish })
}

const fetchFrom = (url: string, { at = w.site.appUrl, key = w.key } = {}) =>
  callApi(at, 'POST', '/media/upload-from-url', { key, json: { url } })

/** A caller who can leave. */
function aCaller(url: string) {
  const headers = { authorization: w.key, 'content-type': 'application/json' }
  const call = request(`${w.site.appUrl}/public/v1/media/upload-from-url`, { method: 'POST', headers })
  call.on('error', () => {}).end(JSON.stringify({ url }))
  return call
}

test('callers who leave end their fetches: no request, no file and no place stays', async () => {
  const source = await dribbling()
  const callers = Array.from({ length: AtOnce + WaitingAtMost }, () => aCaller(source.url))
  await until(() => source.open.size >= AtOnce)
  for (const caller of callers) caller.destroy()
  await until(() => source.open.size === 0, 10_000)
  await until(async () => (await temporaryFiles()).length === 0)
  await until(async () => (await w.db.execute(sql`select from uploads`)).length === 0)
  source.isSlow = false
  const next = await Promise.all(Array.from({ length: AtOnce }, () => fetchFrom(source.url)))
  expect(next.map(({ status }) => status)).toEqual(Array(AtOnce).fill(201))
})

test('an organisation has at most 4 fetches at a time over all processes, and the next waits for its turn', async () => {
  const source = await dribbling()
  const appUrls = [w.site.appUrl, beside.site.appUrl]
  const all = Array.from({ length: 10 }, (_, i) => fetchFrom(source.url, { at: appUrls[i % 2]! }))
  let answered = 0
  for (const one of all) void one.then(() => answered++)
  for (let wave = 1; wave <= 3; wave++) {
    await until(() => source.open.size === Math.min(AtOnce, all.length - answered))
    source.finish()
    await until(() => answered === Math.min(AtOnce * wave, all.length))
  }
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(10).fill(201))
  expect(source.most).toBe(AtOnce)
})

test('when 20 wait, the next is refused with the time to wait, and other organisations fetch meanwhile', async () => {
  const source = await dribbling()
  const all = Array.from({ length: AtOnce }, () => fetchFrom(source.url))
  await until(() => source.open.size === AtOnce)
  all.push(...Array.from({ length: WaitingAtMost + 1 }, () => fetchFrom(source.url)))
  const first = await Promise.race(all)
  expectProblem(first, 429, 'rate_limited')
  expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(first.json.detail).toMatch(/4 files at a time/)
  const quick = await dribbling()
  quick.isSlow = false
  const other = await anOrganisation(w.db)
  expect((await fetchFrom(quick.url, { key: other.key })).status).toBe(201)
  source.isSlow = false
  source.finish()
  const rest = (await Promise.all(all)).map(({ status }) => status)
  expect(rest.toSorted()).toEqual([...Array(AtOnce + WaitingAtMost).fill(201), 429])
})

test('a process that was killed gives its places back when its leases are over', async () => {
  const doomed = await openBeside(w)
  const source = await dribbling()
  const lost = Array.from({ length: AtOnce }, () =>
    fetchFrom(source.url, { at: doomed.site.appUrl }).catch(() => 'lost'),
  )
  await until(() => source.open.size === AtOnce)
  doomed.web.kill('SIGKILL')
  await Promise.all(lost)
  await doomed.end()
  const [row] = await w.db.execute<{ left: number; ahead: boolean }>(sql`
    select count(*)::int as left, bool_and(lease_until between now() and now() + interval '61 seconds') as ahead from uploads`)
  expect(row).toEqual({ left: AtOnce, ahead: true })
  source.isSlow = false
  const next = fetchFrom(source.url)
  await w.db.execute(sql`update uploads set lease_until = now() - interval '1 second'`)
  expect((await next).status).toBe(201)
})
