import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../../../server/rest/endpoint.ts'
import { routes as all } from '../../../server/rest/routes.ts'
import { aPhoto } from '../../builders.ts'
import { expectProblem, faultsOf, openWeb, type Web } from '../web.ts'

let w: Web
let own: Record<string, string> // of each thing that a path names, an id that is there
beforeAll(async () => {
  w = await openWeb()
  const channelId = await w.channel()
  const post = await w.call('POST', '/posts', { json: { type: 'draft', content: 'x', channelIds: [channelId] } })
  const hook = await w.call('POST', '/webhooks', { json: { url: 'https://hooks.punctual.test/' } })
  const deliveryId = (await w.call('POST', `/webhooks/${hook.json.id}/test`)).json.id
  own = {
    deliveryId,
    webhooks: hook.json.id,
    channelId,
    channels: channelId,
    posts: post.json.id,
    media: await anImage(),
  }
})
afterAll(() => w.end())

const routes = all.filter(({ does }) => does !== null) // the rest takes nothing
const call = (route: Route, path: string, options = {}) => w.call(route.method.toUpperCase(), path, options)
/** A path of the route with things that are there, or with `id` for the first of them. */
const pathOf = ({ path }: Route, id = own[path.split('/')[1]!]!) =>
  path
    .replace(':id', () => id)
    .replace(':channelId', own.channelId!)
    .replace(':deliveryId', own.deliveryId!)
const json = routes.filter(({ body }) => body === 'json')
const lists = routes.filter(({ query }) => query)
const withId = routes.filter(({ path }) => path.includes(':id'))

test('a value of the wrong type, size or choice is refused in plain words', async () => {
  const messagesOf = async (method: string, path: string, json?: object) => {
    const answer = await w.call(method, path, json ? { json } : {})
    return answer.json.errors.map(({ path, message }: Record<string, string>) => `${path}: ${message}`)
  }
  const post = { type: 'now', content: 5, channelIds: 'x', mediaIds: [7], contnt: '' }
  expect((await messagesOf('POST', '/posts', post)).sort()).toEqual([
    'channelIds: Must be an array.',
    'content: Must be a string.',
    'contnt: Unknown field. Check its spelling.',
    'mediaIds[0]: Must be a string.',
  ])
  expect(await messagesOf('GET', '/posts?limit=101')).toEqual(['limit: Must be at most 100.'])
  expect(await messagesOf('GET', '/posts?limit=x')).toEqual(['limit: Must be a number.'])
  expect(await messagesOf('GET', `/posts?cursor=${'x'.repeat(501)}`)).toEqual(['cursor: At most 500 characters.'])
  const status = 'status: Must be one of ACTIVE, NEEDS_RECONNECT, PAUSED, DISCONNECTED.'
  expect(await messagesOf('GET', '/channels?status=on')).toEqual([status])
})

describe('an id that is none', () => {
  const ids = [
    'x',
    '%00',
    '%FF%FE',
    '..',
    '%2e%2e%2f',
    "'",
    'null',
    '0',
    'f'.repeat(5000),
    '%F0%9F%98%80',
    '%',
    '__proto__',
  ]
  test.each(withId)('$method $path: is simply not there', async (route) => {
    const missing = await call(route, pathOf(route, '01890000-0000-7000-8000-000000000000'), valid(route))
    for (const id of ids) {
      if (id === '..') continue // a client resolves it
      const answer = await call(route, pathOf(route, id), valid(route))
      expectProblem(answer, 404, 'not_found')
      expect({ ...answer.json, requestId: '' }).toEqual({ ...missing.json, requestId: '' })
    }
  })
})

describe('a query', () => {
  test.each(routes)(
    '$method $path: a parameter that is unknown, or given twice, is 400 with its name',
    async (route) => {
      for (const [query, fault] of [
        ['nonsense=1', 'nonsense unknown_field'],
        ['__proto__=1', '__proto__ unknown_field'],
        ['id=1', 'id unknown_field'],
        ['a=1&a=1', 'a repeated'],
        ['limit=1&limit=2', 'limit repeated'],
      ]) {
        const answer = await call(route, `${pathOf(route)}?${query}`, aBodyFor(route))
        expectProblem(answer, 400, 'invalid_request')
        expect(faultsOf(answer)).toEqual([fault])
      }
    },
  )

  test.each(lists)('$path: a limit, cursor or filter that cannot be is 400', async (route) => {
    const cursor = (value: unknown) => `cursor=${Buffer.from(JSON.stringify(value)).toString('base64url')}`
    const id = '01890000-0000-7000-8000-000000000000'
    const bad = ['0', '101', '-1', '1.5', '1e1', '', 'x', '%00', '99999999999'].map((limit) => `limit=${limit}`)
    bad.push('cursor=', 'cursor=x', 'cursor=%00', `cursor=${'a'.repeat(501)}`, cursor(null), cursor([]), cursor({}))
    bad.push(
      cursor(['2020', id]),
      cursor(['+275760-09-13T00:00:00.000Z', id]),
      cursor(['0000-01-01T00:00:00.000Z', id]),
    )
    bad.push(
      cursor(['2026-01-01T00:00:00.000Z', '-'.repeat(36)]),
      cursor(['2026-01-01T00:00:00.000Z', 5]),
      cursor([1, id]),
    )
    for (const query of bad) {
      const answer = await call(route, `${pathOf(route)}?${query}`)
      expect([query, answer.status]).toEqual([query, 400])
      expectProblem(answer, 400, 'invalid_request')
      expect(answer.json.errors[0].path).toBe(query.split('=')[0])
    }
  })

  test('filters that are none are 400, all of them at once', async () => {
    const posts = await w.call('GET', '/posts?status=LOST&from=today&to=0000-01-01T00:00:00Z&order=up&limit=0&x=1')
    expectProblem(posts, 400, 'invalid_request')
    expect(posts.json.errors.map(({ path }: { path: string }) => path).sort()).toEqual(
      ['from', 'limit', 'order', 'status', 'to', 'x'].sort(),
    )
    for (const query of ['status=active', 'network=%00', `network=${'x'.repeat(51)}`, 'network=a?b&status=x'])
      expectProblem(await w.call('GET', `/channels?${query}`), 400, 'invalid_request')
    for (const query of ['channelId=%00', 'channelId=x'])
      expect(await w.call('GET', `/posts?${query}`)).toMatchObject({
        status: 200,
        json: { data: [], nextCursor: null },
      })
    expect(await w.call('GET', '/channels?network=%FF')).toMatchObject({ status: 200, json: { data: [] } })
  })
})

describe('a JSON body', () => {
  const bodies: [string, string | Uint8Array][] = [
    ['nothing', ''],
    ['half', '{"type":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"draft"'],
    ['a number', '1'],
    ['not UTF-8', Buffer.concat([Buffer.from('{"content":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')])],
    ['NUL in a value', '{"url":"http://x/\\u0000","content":"\\u0000"}'],
    ['NUL in a name', '{"\\u0000":1}'],
    ['half of a surrogate pair', '{"url":"\\ud800","content":"\\udc00"}'],
    ['__proto__', '{"__proto__":{"type":"draft","content":"x","channelIds":[],"url":"http://x"}}'],
    ['constructor', '{"constructor":{"prototype":{"type":"draft"}}}'],
    ['100,000 arrays in each other', `{"content":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['a member with a very long name', `{"${'x'.repeat(200_000)}":1}`],
    ['a number beyond all numbers', '{"content":1e999,"url":1e999}'],
  ]
  test.each(json)('$method $path: any bad input gets 400 in the documented shape', async (route) => {
    for (const [what, body] of bodies) {
      const answer = await call(route, pathOf(route), { body, headers: { 'content-type': 'application/json' } })
      expect([what, answer.status]).toEqual([what, 400])
      expectProblem(answer, 400, 'invalid_request')
    }
  })

  test.each(json)(
    '$method $path: of more than 256 KB is 413, told or streamed; of exactly 256 KB is read',
    async (route) => {
      const headers = { 'content-type': 'application/json' }
      const exactly = `{"x":"${'x'.repeat(256 * 1024 - 8)}"}`
      expectProblem(await call(route, pathOf(route), { body: exactly, headers }), 400, 'invalid_request')
      expectProblem(await call(route, pathOf(route), { body: `${exactly} `, headers }), 413, 'body_too_large')
      const stream = new Blob([exactly, ' ']).stream()
      expectProblem(await call(route, pathOf(route), { body: stream, headers }), 413, 'body_too_large')
    },
  )

  test.each(json)(
    '$method $path: of another type is 415, of JSON with any charset parameter is read',
    async (route) => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonp',
        'multipart/form-data',
        '',
      ])
        expectProblem(
          await call(route, pathOf(route), { body: Buffer.from('{}'), headers: type ? { 'content-type': type } : {} }),
          415,
          'unsupported_media_type',
        )
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
      expectProblem(await call(route, pathOf(route), { body: '{"x":1}', headers }), 415, 'unsupported_media_type')
      for (const type of [
        'application/json; charset=utf-8',
        'APPLICATION/JSON;charset="UTF-8"',
        'application/json ;x=y',
      ])
        expectProblem(
          await call(route, pathOf(route), { body: '{"x":1}', headers: { 'content-type': type } }),
          400,
          'invalid_request',
        )
    },
  )
})

test('a body that nests bad text deep, or under a long name, is refused with short paths and at once', async () => {
  const bad = Array(500).fill('"\\u0000"').join(',')
  const deep = `${'['.repeat(90_000)}${bad}${']'.repeat(90_000)}`
  for (const body of [deep, `{"${'x'.repeat(100_000)}":[${bad}]}`]) {
    const answer = await w.call('POST', '/posts', { body, headers: { 'content-type': 'application/json' } })
    expectProblem(answer, 400, 'invalid_request')
    expect(JSON.stringify(answer.json).length).toBeLessThan(1000)
  }
})

test('an Idempotency-Key that is empty or too long is 400', async () => {
  for (const key of ['', 'x'.repeat(256)]) {
    const answer = await w.call('POST', '/posts', { json: {}, headers: { 'idempotency-key': key } })
    expectProblem(answer, 400, 'invalid_request')
    expect(answer.json.detail).toContain('Idempotency-Key')
  }
})

test('a request for the whole address of another host gets links to ours', async () => {
  for (let i = 0; i < 2; i++) await w.call('POST', '/posts', { json: { type: 'draft', content: 'x', channelIds: [] } })
  const socket = connect(w.site.port, 'localhost')
  socket.write(
    `GET http://evil.example/public/v1/posts?limit=1 HTTP/1.1\r\nHost: evil.example\r\nAuthorization: ${w.key}\r\nConnection: close\r\n\r\n`,
  )
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  await once(socket, 'close')
  expect(text).toContain(`Link: <${w.site.appUrl}/public/v1/posts?limit=1&cursor=`)
  expect(text).not.toContain('evil')
})

test('a form larger than any page has is refused, told before it is read and streamed where it passes the bound', async () => {
  const send = async (path: string, body: BodyInit) => {
    const more = body instanceof ReadableStream ? { duplex: 'half' } : {}
    const headers = { origin: w.site.appUrl, 'content-type': 'application/x-www-form-urlencoded' }
    const init = { method: 'POST', body, headers, redirect: 'manual', ...more } as RequestInit
    return (await fetch(`${w.site.appUrl}${path}`, init)).status
  }
  const form = (bytes: number) => 'email='.padEnd(bytes, 'x')
  const most = 64 * 1024
  expect(await send('/login', form(most))).toBe(400)
  expect(await send('/login', form(most + 1))).toBe(413)
  expect(await send('/login', new Blob([form(most)]).stream())).toBe(400)
  expect(await send('/login', new Blob([form(most + 1)]).stream())).toBe(413)
  expect(await send('/settings/developers/apps', form(most + 1))).toBe(302) // to the sign-in
})

test('an address that no page has never shows as our own fault', async () => {
  for (const path of [
    '/%',
    '/files/%E0%A4%A',
    '/files/%00.jpg',
    '/files/..%2f..%2fx.jpg',
    '/files/x.jpg',
    '/files/x',
    '/build/%',
    '/posts/%00',
    '/feeds/%00',
  ])
    expect([path, (await fetch(`${w.site.appUrl}${path}`, { redirect: 'manual' })).status < 500]).toEqual([path, true])
})

/** A body that a route takes. */
function valid({ method, path }: Route): { json?: unknown } {
  if (path.endsWith('/resolve')) return { json: { outcome: 'cancelled' } }
  if (path.startsWith('/media')) return method === 'patch' ? { json: { alt: 'x' } } : {}
  if (path.startsWith('/webhooks')) return method === 'patch' ? { json: { status: 'ACTIVE' } } : {}
  if (path.startsWith('/queues')) return method === 'patch' ? { json: { name: 'x' } } : {}
  return method === 'patch' ? { json: { content: 'x' } } : {}
}

async function anImage(): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([await aPhoto()]))
  return (await w.call('POST', '/media', { body: form })).json.id
}

/** What makes a route look at its query. */
function aBodyFor({ body }: Route): { json?: unknown; body?: BodyInit } {
  if (body === 'json') return { json: {} }
  if (body !== 'file') return {}
  const form = new FormData()
  form.append('file', new Blob(['x']))
  return { body: form }
}
