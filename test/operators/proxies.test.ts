import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../processes.ts'
import { aVideo, free } from '../video.ts'
import { withPrograms } from './program.ts'
import { callUntil, type TwoWebs, twoWebsBehind } from './two-webs.ts'

// The real proxies with the examples of docs/deploy, as an operator runs them: TLS, two web processes, TRUST_PROXY=1.

const programs = withPrograms('nginx', 'caddy')
const MiB = 1024 * 1024
const WrongTries = 5

describe.each(['nginx', 'caddy'] as const)('behind %s', (proxy) => {
  let w: TwoWebs
  beforeAll(async () => {
    if (programs.nginx && programs.caddy)
      w = await twoWebsBehind(proxy, programs[proxy], { AUTH_RATE_LIMIT: String(WrongTries) })
  })
  afterAll(() => w?.end())

  async function call(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    json?: unknown,
    headers = {},
    dispatcher = w.agent(),
  ) {
    const answer = await request(`${w.origin}${path}`, {
      ...{ method, dispatcher, headers: { authorization: w.key, 'content-type': 'application/json', ...headers } },
      body: json === undefined ? null : JSON.stringify(json),
    })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }
  const aPost = () => ({
    ...{ type: 'schedule', date: new Date(Date.now() + 86_400_000).toISOString(), content: 'later' },
    channelIds: [w.channelId],
  })

  test('a rolling restart of both web processes under continuous calls fails no call', async () => {
    const dispatcher = w.agent()
    let over = false
    const isOver = () => over
    const get = (path: string) =>
      callUntil(isOver, async () => (await call('GET', path, undefined, {}, dispatcher)).status)
    const post = async () => (await call('POST', '/public/v1/posts', aPost(), {}, dispatcher)).status
    const paths = ['/public/v1/me', '/login', '/livez', '/public/v1/me', '/login']
    const calling = Promise.all([callUntil(isOver, post), ...paths.map(get)])
    try {
      for (const i of [0, 1]) {
        expect(await w.restart(i)).toBe(0)
        if (proxy === 'caddy') await until(() => w.log().split('host is up').length > i + 1) // its check has passed
      }
    } finally {
      over = true
    }
    const [posted, ...read] = await calling
    process.stdout.write(`${proxy}: ${JSON.stringify({ posted, read })}\n`)
    expect(read).toEqual(read.map(() => ({ 200: expect.any(Number) })))
    // nginx does no health checks and never repeats a POST: one POST may arrive at the moment when the process stops
    // listening.
    const { 201: good = 0, 502: met = 0, ...other } = posted
    expect({ isGood: good > 20, metAtMost: met <= (proxy === 'nginx' ? 1 : 0), other }).toEqual({
      isGood: true,
      metAtMost: true,
      other: {},
    })
  })

  test('a file of 300 MB is passed on while it is received', async () => {
    const folder = join(w.sites[0]!.dataDir, 'files/temporary')
    const taken = () => (existsSync(folder) ? readdirSync(folder).map((name) => statSync(join(folder, name)).size) : [])
    const head = await aVideo('mp4')
    async function* body() {
      yield '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
      yield head
      yield* free(280 * MiB)
      await until(() => Math.max(...taken()) > 270 * MiB) // or the proxy buffers it
      yield* free(20 * MiB)
      yield '\r\n--x--\r\n'
    }
    const answer = await request(`${w.origin}/public/v1/media`, {
      ...{ method: 'POST', dispatcher: w.agent(), body: Readable.from(body()) },
      headers: { authorization: w.key, 'content-type': 'multipart/form-data; boundary=x' },
    })
    expect(await answer.body.text()).toContain('"id"')
    expect(answer.statusCode).toBe(201)
  })

  if (proxy === 'nginx')
    test('the access log has the path of a mailed link, and never its secret', async () => {
      for (const path of ['/confirm', '/reset', '/new-address', '/verify']) await call('GET', `${path}?token=a-secret`)
      const log = () => readFileSync(join(w.folder, 'access.log'), 'utf8')
      await until(() => log().includes('"GET /verify HTTP/1.1" 200'))
      expect(log()).toContain('"GET /confirm HTTP/1.1"')
      expect(log()).not.toContain('a-secret')
    })

  test('what Punctual compressed arrives as it was, and a post has the same ETag for each coding', async () => {
    const list = await call('GET', '/public/v1/openapi.json', undefined, { 'accept-encoding': 'br' })
    expect(list.headers['content-encoding']).toBe('br')
    const { id } = JSON.parse((await call('POST', '/public/v1/posts', aPost())).text)
    const read = await call('GET', `/public/v1/posts/${id}`, undefined, { 'accept-encoding': 'gzip' })
    expect([read.headers['content-encoding'], read.headers.etag]).toEqual([undefined, '"1"'])
  })

  test('an edit with the ETag of an answer is accepted, and one with an old ETag is refused', async () => {
    const made = JSON.parse((await call('POST', '/public/v1/posts', aPost())).text)
    const { id } = made[0] ?? made
    const read = await call('GET', `/public/v1/posts/${id}`, undefined, { 'accept-encoding': 'gzip' })
    const edit = (content: string) =>
      call('PATCH', `/public/v1/posts/${id}`, { content }, { 'if-match': read.headers.etag })
    expect((await edit('other')).status).toBe(200)
    expect((await edit('third')).status).toBe(412)
  })

  test('each caller has its own limits by its real address, whatever X-Forwarded-For claims', async () => {
    const wrong = (from: string, headers = {}) =>
      call('GET', '/public/v1/me', undefined, { authorization: 'wrong', ...headers }, w.agent(from)).then(
        ({ status }) => status,
      )
    for (let i = 0; i < WrongTries; i++) expect(await wrong('127.0.0.2')).toBe(401)
    expect(await wrong('127.0.0.2')).toBe(429)
    expect(await wrong('127.0.0.2', { 'x-forwarded-for': '127.0.0.9' })).toBe(429)
    expect(await wrong('127.0.0.3')).toBe(401)
  })
})
