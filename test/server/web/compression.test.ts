import { readdirSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aPhoto } from '../../builders.ts'
import { aBrowser } from '../browser.ts'
import { costOf } from '../cost.ts'
import { aHouse, Password } from '../house.ts'
import { openWeb, type Web } from '../web.ts'

let w: Web
let channelId: string
let cookie: string // of a person who is signed in
beforeAll(async () => {
  w = await openWeb()
  channelId = await w.channel()
  const { member } = await aHouse(w)
  const browser = aBrowser(w.site.appUrl)
  await browser.post('/login', { email: member.email, password: Password })
  cookie = browser.jar.cookie
})
afterAll(() => w.end())

type Headers = Record<string, string>

/** An answer with its bytes as they were sent: nothing is decoded. */
async function ask(
  path: string,
  coding: string | null,
  { method = 'GET', ...headers }: Headers & { method?: string } = {},
) {
  const sent = { ...headers, ...(coding === null ? {} : { 'accept-encoding': coding }) }
  const {
    statusCode,
    headers: got,
    body,
  } = await request(w.site.appUrl + path, { method: method as 'GET', headers: sent })
  return { status: statusCode, headers: got as Headers, bytes: Buffer.from(await body.arrayBuffer()) }
}

type Asked = Awaited<ReturnType<typeof ask>>

function decoded({ headers, bytes }: Pick<Asked, 'headers' | 'bytes'>): string {
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[headers['content-encoding'] ?? '']
  return (decode ? decode(bytes) : bytes).toString()
}

const codings = [
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0.1, gzip;q=0.9, identity;q=0', 'gzip'],
  ['br;q=0, gzip;q=0', undefined],
  ['identity;q=0', undefined],
  ['identity', undefined],
  [null, undefined],
] as const

describe('a built script', () => {
  const script = `/build/${readdirSync('public/build').find((name) => /^manifest-\w+\.js$/.test(name))}`

  test.each(codings)('for Accept-Encoding %j is sent as %s, and may be kept for a year', async (asked, coding) => {
    const [answer, plain] = [await ask(script, asked), await ask(script, null)]
    expect(answer).toMatchObject({ status: 200, headers: { vary: 'Accept-Encoding' } })
    expect(answer.headers['content-encoding']).toBe(coding)
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(answer.headers['content-type']).toBe(plain.headers['content-type'])
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length))
    expect(decoded(answer)).toBe(plain.bytes.toString())
    if (coding) expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 2)
  })

  test('has an ETag for each coding, and is 304 only for the tag of the coding that is asked for', async () => {
    const tags = await Promise.all(
      ['br', 'gzip', 'identity'].map(async (coding) => (await ask(script, coding)).headers.etag!),
    )
    expect(new Set(tags).size).toBe(3)
    for (const [at, coding] of ['br', 'gzip', 'identity'].entries())
      for (const [of, tag] of tags.entries()) {
        const answer = await ask(script, coding, { 'if-none-match': tag })
        expect([coding, of, answer.status]).toEqual([coding, of, of === at ? 304 : 200])
        expect([answer.headers.etag, answer.headers.vary]).toEqual([tags[at], 'Accept-Encoding'])
      }
  })

  test.each(['br', 'gzip', 'identity'])('asked for with HEAD has the headers of GET: %s', async (coding) => {
    const [head, get] = [await ask(script, coding, { method: 'HEAD' }), await ask(script, coding)]
    expect(head).toMatchObject({ status: 200, bytes: Buffer.alloc(0) })
    for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
      expect(head.headers[name]).toBe(get.headers[name])
  })

  test.each(['br', 'gzip', 'identity'])('is sent in parts of what the coding made of it: %s', async (coding) => {
    const whole = await ask(script, coding)
    const part = await ask(script, coding, { range: 'bytes=10-99' })
    expect(part).toMatchObject({ status: 206, bytes: whole.bytes.subarray(10, 100) })
    expect(part.headers['content-range']).toBe(`bytes 10-99/${whole.bytes.length}`)
    expect(part.headers['content-encoding']).toBe(whole.headers['content-encoding'])
    const stale = await ask(script, coding, { range: 'bytes=10-99', 'if-range': '"other"' })
    expect(stale).toMatchObject({ status: 200, bytes: whole.bytes })
  })

  test.each(['br', 'identity'])(
    'answers 416 with its size to a range outside, and no header of a file: %s',
    async (coding) => {
      const { length } = (await ask(script, coding)).bytes
      const { status, headers, bytes } = await ask(script, coding, { range: 'bytes=99999999-' })
      expect([status, headers['content-range'], bytes.length]).toEqual([416, `bytes */${length}`, 0])
      expect([headers['content-encoding'], headers.etag, headers['cache-control']]).toEqual([
        undefined,
        undefined,
        'no-store',
      ])
    },
  )

  test('has no address for its compressed form', async () => {
    for (const ending of ['.br', '.gz']) expect((await ask(script + ending, 'br')).status).toBe(404)
  })
})

describe('a page', () => {
  test.each(codings)('for Accept-Encoding %j is sent as %s', async (asked, coding) => {
    const withoutNew = (answer: Asked) =>
      decoded(answer).replace(/nonce="[^"]*"|content="[\w:.-]{24,36}"|"[\w-]{43}"/g, '')
    const [answer, plain] = [await ask('/login', asked), await ask('/login', null)]
    expect(answer.headers['content-encoding']).toBe(coding)
    expect(answer.headers.vary).toBe('Accept-Encoding')
    expect(withoutNew(answer)).toBe(withoutNew(plain))
    expect(answer.headers.etag).toBeUndefined()
  })

  test('of a person is compressed, and so is what its loader sends', async () => {
    for (const path of ['/', '/posts/new', '/?_data=routes%2F_index']) {
      const answer = await ask(path, 'br', { cookie })
      expect([path, answer.status, answer.headers['content-encoding']]).toEqual([path, 200, 'br'])
      expect(decoded(answer)).not.toBe('')
    }
  })

  test.each([
    ['a query', '/login?next=%2Fchannels'],
    ['a query after the name of a loader', '/?_data=routes%2F_index&status=x'],
    ['a path that it repeats', '/no-such-page'],
    ['the consent of an app', '/oauth/authorize?client_id=x'],
    ['the consent of an app, without a query', '/oauth/authorize'],
    ['the metadata of OAuth', '/.well-known/oauth-authorization-server'],
    ['health', '/readyz'],
  ])('is not compressed with %s', async (_why, path) => {
    expect((await ask(path, 'br, gzip', { cookie })).headers['content-encoding']).toBeUndefined()
  })

  test('that answers a form is not compressed', async () => {
    const form = {
      method: 'POST',
      body: 'email=a&password=b',
      headers: { origin: w.site.appUrl, 'accept-encoding': 'br' },
    }
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const { statusCode, headers } = await request(`${w.site.appUrl}/login`, {
      ...form,
      method: 'POST',
      headers: { ...form.headers, ...type },
    })
    expect([statusCode, headers['content-encoding']]).toEqual([400, undefined])
  })

  test('asked for with HEAD names the coding of GET and has no body', async () => {
    const { headers, bytes } = await ask('/login', 'gzip', { method: 'HEAD' })
    expect([headers['content-encoding'], headers.vary, bytes.length]).toEqual(['gzip', 'Accept-Encoding', 0])
  })
})

describe('a feed', () => {
  test.each(['atom.xml', 'feed.json', ''])('is compressed for readers that accept it: %s', async (name) => {
    const path = `/feeds/${channelId}${name && `/${name}`}`
    const [answer, plain] = [await ask(path, 'gzip'), await ask(path, null)]
    expect(answer.headers['content-encoding']).toBe('gzip')
    if (name) expect(decoded(answer)).toBe(plain.bytes.toString())
  })
})

test('a stored file is never compressed, and its parts stay parts of the file', async () => {
  const body = new FormData()
  body.append('file', new Blob([await aPhoto({ width: 90, height: 90 })]))
  const { json } = await w.call('POST', '/media', { body })
  const { pathname } = new URL(json.url)
  const whole = await ask(pathname, 'br, gzip')
  const part = await ask(pathname, 'br, gzip', { range: 'bytes=3-9' })
  expect([whole.headers['content-encoding'], part.headers['content-encoding']]).toEqual([undefined, undefined])
  expect(part).toMatchObject({ status: 206, bytes: whole.bytes.subarray(3, 10) })
})

describe('the API', () => {
  beforeAll(async () => {
    for (let i = 0; i < 5; i++)
      await w.call('POST', '/posts', {
        json: { type: 'draft', content: `Draft ${i} `.repeat(30), channelIds: [channelId] },
      })
  })

  test.each(codings)('for Accept-Encoding %j sends a list as %s', async (asked, coding) => {
    const [answer, plain] = [
      await ask('/public/v1/posts', asked, { authorization: w.key }),
      await ask('/public/v1/posts', null, { authorization: w.key }),
    ]
    expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual([coding, 'Accept-Encoding'])
    expect(decoded(answer)).toBe(plain.bytes.toString())
  })

  test('sends a post plain, so that its ETag is its version with any coding', async () => {
    const { json } = await w.call('GET', '/posts?limit=1')
    const { headers, bytes } = await ask(`/public/v1/posts/${json.data[0].id}`, 'br, gzip', { authorization: w.key })
    expect([headers['content-encoding'], headers.etag, headers.vary]).toEqual([undefined, '"1"', undefined])
    expect(JSON.parse(bytes.toString())).toMatchObject({ version: 1 })
  })

  test('sends a short answer and a refusal plain', async () => {
    const channels = await ask('/public/v1/channels?status=DISCONNECTED', 'gzip', { authorization: w.key })
    const refused = await ask('/public/v1/posts', 'gzip')
    expect([channels.headers['content-encoding'], refused.headers['content-encoding']]).toEqual([undefined, undefined])
    expect([channels.status, refused.status]).toEqual([200, 401])
  })
})

test.runIf(process.platform === 'linux')('a hostile Accept-Encoding costs no more than a short one', async () => {
  const script = `/build/${readdirSync('public/build').find((name) => name.endsWith('.js'))}`
  const hostile = ['gzip;q=0.1,'.repeat(1300), `gzip${' '.repeat(14_000)};`, ',;'.repeat(7000), '*;q=0.'.repeat(2000)]
  for (const header of hostile) {
    const [ms] = await costOf(w.web, async () => {
      for (let i = 0; i < 20; i++)
        expect((await ask(i % 2 ? script : '/public/v1/openapi.json', header)).status).toBe(200)
    })
    expect(ms / 20).toBeLessThan(50)
  }
})
