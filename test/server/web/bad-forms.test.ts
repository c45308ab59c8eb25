import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anOrganisation } from '../../builders.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

let w: Web
let browser: ReturnType<typeof aBrowser>
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
  browser = aBrowser(w.site.appUrl)
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  expect((await browser.post('/signup', ada)).status).toBe(302)
})
afterAll(() => w.end())

/** Send a body as a page of ours would, signed in. */
async function send(path: string, type: string, body: BodyInit) {
  const headers = { origin: w.site.appUrl, cookie: browser.jar.cookie, 'content-type': type }
  const more = body instanceof ReadableStream ? { duplex: 'half' } : {}
  const init = { method: 'POST', redirect: 'manual', headers, body, ...more } as RequestInit
  const response = await fetch(`${w.site.appUrl}${path}`, init)
  return { status: response.status, text: await response.text() }
}

const UrlEncoded = 'application/x-www-form-urlencoded'
const Multipart = 'multipart/form-data; boundary=x'
const NoPost = '01890000-0000-7000-8000-000000000000'

const pages = [
  '/login',
  '/sign-in-again',
  '/signup',
  '/forgot',
  '/reset',
  '/verify',
  '/confirm',
  '/new-address',
  '/organisation',
  '/settings/account',
  '/settings/developers/access',
  '/settings/developers/apps',
  '/settings/approved-apps',
  '/calendar',
  '/channels',
  '/queues/new',
  `/queues/${NoPost}`,
  '/posts/new',
  '/posts/working-copy',
  '/posts/media-link',
  `/posts/${NoPost}`,
  '/oauth/authorize',
]

test.each(pages)('%s: a body that is no form, or half of one, is 400', async (path) => {
  for (const [type, body] of [
    ['text/plain', 'x'],
    ['application/json', '{}'],
    ['multipart/form-data', 'x'],
    [Multipart, ''],
    [Multipart, 'nothing of the kind'],
    [Multipart, '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nhalf'],
    [Multipart, '--x\r\nContent-Disposition: nonsense\r\n\r\n\r\n--x--\r\n'],
  ] as const)
    expect([type, body, (await send(path, type, body)).status]).toEqual([type, body, 400])
})

test.each(pages)('%s: a form that comes in chunks is read up to the bound, and no further', async (path) => {
  const form = (bytes: number) => new Blob(['email='.padEnd(bytes, 'x')]).stream()
  expect((await send(path, UrlEncoded, form(10))).status).not.toBe(413)
  expect((await send(path, UrlEncoded, form(24 * 1024 * 1024 + 1))).status).toBe(413)
})

test('a form for a page that takes none, or for no page, is refused, and the log has no error', async () => {
  expect((await send('/docs', UrlEncoded, 'a=b')).status).toBe(405)
  expect((await send('/docs?_data=routes%2Fdocs', UrlEncoded, 'a=b')).status).toBe(405)
  expect((await send('/docs?_data=nothing', UrlEncoded, 'a=b')).status).toBe(403)
  expect((await send('/nothing', UrlEncoded, 'a=b')).status).toBe(405)
  expect(w.web.log()).not.toContain('"level":50')
})

test('the new times of 10,000 posts of a queue fit into its form, and those of 25,000 do not', async () => {
  const move = (count: number) =>
    new URLSearchParams({ intent: 'move', moves: Array(count).fill(`${NoPost} 2031-05-06T07:00:00.000Z`).join(',') })
  const path = `/queues/${NoPost}`
  expect((await send(path, UrlEncoded, move(10_000))).status).toBe(404) // read whole: there is no such queue
  expect((await send(path, UrlEncoded, move(25_000))).status).toBe(413)
})

test('a form with a name that makes a list without end, or an endless name, is refused at once', async () => {
  for (const name of ['email[999999999]', 'email[0][999999999]', '[]', 'x'.repeat(101)]) {
    const began = Date.now()
    const { status } = await send('/login', UrlEncoded, new URLSearchParams({ email: 'a@b.c', [name]: 'x' }))
    expect([name, status]).toEqual([name, 400])
    expect(Date.now() - began).toBeLessThan(10_000)
  }
  expect((await fetch(`${w.site.appUrl}/livez`)).ok).toBe(true)
})

test('a day that does not exist is refused beside its field', async () => {
  for (const expiresAt of ['2026-99-99', '2026-02-30', '0000-00-00']) {
    const form = { intent: 'generate', name: 'x', scopes: 'posts:read', expiresAt }
    const { status, text } = await browser.post('/settings/developers/access', form)
    expect([expiresAt, status]).toEqual([expiresAt, 400])
    expect(text).toContain('')
  }
  for (const date of ['2026-99-99', '+275760-09-13', '-271821-04-20', '9999-12-31'])
    for (const intent of ['schedule', 'draft']) {
      const form = { intent, content: 'x', date, time: '23:59' }
      expect([date, (await browser.post('/posts/new', form)).status < 500]).toEqual([date, true])
    }
})

test('the day of a refused key is still in its field', async () => {
  const form = { intent: 'generate', name: 'x', expiresAt: '2031-03-31' } // no scope
  const { status, text } = await browser.post('/settings/developers/access?generate', form)
  expect(status).toBe(400)
  expect(text).toMatch(/<input[^>]*type="date"[^>]*value="2031-03-31"/)
})

test('disconnecting a channel that is not there, or not ours, is 404 before anything is asked', async () => {
  const theirs = await w.channel((await anOrganisation(w.db)).organisationId)
  for (const id of [theirs, NoPost, 'x', '%00'])
    expect([id, (await browser.get(`/channels?disconnect=${id}`)).status]).toEqual([id, 404])
})

describe('where to go after signing in', () => {
  const nowhere = ['/\0/x', '/%00/x', '/a\r\nb', '/a%0d%0Ab', '/a b', '/€', '/%7f', '/a\\b', '//evil.example', '/a#b']
  test.each(['/login', '/signup'])('%s: what is no address of ours is home', async (path) => {
    for (const next of nowhere) {
      const at = `${path}?next=${encodeURIComponent(next)}`
      const signedIn = await browser.get(at)
      expect([at, signedIn.status, signedIn.headers.get('location')]).toEqual([at, 302, '/'])
      const { status, text } = await aBrowser(w.site.appUrl).get(at)
      expect([at, status, /href="\/\w+\?next=/.test(text)]).toEqual([at, 200, false])
    }
  })

  test('a query comes through byte for byte', async () => {
    const next = '/oauth/authorize?state=a%0Ab%00+~%2B&x=#'.slice(0, -1)
    const { headers } = await browser.get(`/login?next=${encodeURIComponent(next)}`)
    expect(headers.get('location')).toBe(next)
  })
})

test('a target that is no path, and a method that nobody has, are refused and not our own fault', async () => {
  for (const line of [
    'GET http://x/ HTTP/1.1',
    'GET http://x/login HTTP/1.1',
    'GET http://x HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET * HTTP/1.1',
    'GET http://x/favicon.svg HTTP/1.1',
    'TRACE / HTTP/1.1',
    'PROPFIND / HTTP/1.1',
  ])
    expect([line, Math.floor(Number(await statusOf(line)) / 100)]).toEqual([line, 4])
  for (const line of [
    'GET //x/y HTTP/1.1',
    'GET /?_data=nonsense HTTP/1.1',
    'GET /login?_data=root HTTP/1.1',
    'OPTIONS / HTTP/1.1',
  ])
    expect([line, Number(await statusOf(line)) < 500]).toEqual([line, true])
})

async function statusOf(line: string): Promise<string | undefined> {
  const socket = connect(w.site.port, 'localhost')
  socket.write(`${line}\r\nHost: x\r\nOrigin: ${w.site.appUrl}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  await once(socket, 'close')
  return text.split(' ')[1]
}

test('a browser never guesses the type of an answer', async () => {
  for (const path of [
    '/favicon.svg',
    '/livez',
    '/public/v1/me',
    '/public/x',
    '/files/x',
    '/files/00000000000000000000000000000000.jpg',
    '/nothing',
  ])
    expect([path, (await browser.get(path)).headers.get('x-content-type-options')]).toEqual([path, 'nosniff'])
})

test('an address that only takes forms shows a page to who opens it, and a page when it refuses', async () => {
  for (const path of ['/organisation', '/logout', '/media']) {
    const { status, headers } = await browser.get(path)
    expect([path, status < 400 ? headers.get('location') : headers.get('content-type')]).toEqual([
      path,
      expect.stringMatching(/^\/$|^text\/html/),
    ])
  }
  const { status, text, headers } = await browser.post('/organisation', { id: NoPost })
  expect([status, headers.get('content-type')]).toEqual([404, expect.stringContaining('text/html')])
  expect(text).toContain('The link may be wrong, or the page was deleted.')
})

test.each(['/?cursor=no-cursor', '/settings/activity?cursor=no-cursor'])(
  '%s: a link that we cannot read gets a page that says so',
  async (path) => {
    const { status, text } = await browser.get(path)
    expect([status, text]).toEqual([400, expect.stringContaining('We couldn&#x27;t read this link.')])
  },
)
