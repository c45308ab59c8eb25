import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memberships, type Role } from '../../../db/schema/accounts.ts'
import { aBrowser } from '../browser.ts'
import { costOf } from '../cost.ts'
import { openWeb, type Web } from '../web.ts'

// The goal is 50 ms; ten times that says that something grows with the square of what is sent, on any machine.
const ProcessorMs = 500

let w: Web
let cookie: string
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
  const browser = aBrowser(w.site.appUrl)
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  expect((await browser.post('/signup', ada)).status).toBe(302)
  cookie = browser.jar.cookie
})
afterAll(() => w.end())

const UrlEncoded = 'application/x-www-form-urlencoded'
const NoPost = '01890000-0000-7000-8000-000000000000'
const pages = [
  '/login',
  '/signup',
  '/organisation',
  '/operations',
  '/settings/account',
  '/settings/developers/access',
  '/settings/developers/apps',
  `/settings/developers/apps/${NoPost}?index`,
  '/settings/developers/webhooks',
  `/settings/developers/webhooks/${NoPost}`,
  '/settings/approved-apps',
  '/channels',
  '/posts/new',
  `/posts/${NoPost}`,
  '/oauth/authorize',
]

/** Send a body as a page of ours would: signed in, or as nobody. What it cost the process in ms, and the answer. */
async function send(path: string, type: string, body: string, as: 'ada' | 'nobody' = 'ada') {
  const headers = { origin: w.site.appUrl, 'content-type': type, ...(as === 'ada' ? { cookie } : {}) }
  const [costMs, answer] = await costOf(w.web, async () => {
    const response = await fetch(`${w.site.appUrl}${path}`, {
      ...{ method: 'POST', redirect: 'manual', headers, body, signal: AbortSignal.timeout(100_000) },
    })
    return { status: response.status, text: await response.text() }
  })
  return { costMs, ...answer }
}

function multipart(fields: [string, string][]): string {
  return `${fields.map(([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--x--\r\n`
}

const Multipart = 'multipart/form-data; boundary=x'
const isAlive = async () => (await fetch(`${w.site.appUrl}/livez`)).ok

describe.each([
  [
    'urlencoded',
    (name: string, value: string) => send('/login', UrlEncoded, `email=a%40b.c&${name}=${encodeURIComponent(value)}`),
  ],
  [
    'multipart',
    (name: string, value: string) =>
      send(
        '/login',
        Multipart,
        multipart([
          ['email', 'a@b.c'],
          [decodeURI(name), value],
        ]),
      ),
  ],
] as const)('a name that none of our forms has, %s,', (_, sendField) => {
  test.each([
    ['__intent__', JSON.stringify({ type: 'update', payload: { name: 'a[4294967290]', value: 'x' } })],
    ['__intent__', '{'],
    ['__intent__', 'reset'],
    ['__state__', '{'],
    ['%5F%5Fintent__', '{'],
    ['__proto__.x', 'x'],
    ['a.__proto__', 'x'],
    ['constructor.prototype', 'x'],
    ['a.constructor', 'x'],
    ['toString', 'x'],
    ['a[999999999]', 'x'],
    ['a[]', 'x'],
    ['a.b.c', 'x'],
    [`a${'.a'.repeat(40)}`, 'x'],
    ['x'.repeat(101), 'x'],
    ['', 'x'],
    ['a b', 'x'],
  ])('is 400 with a sentence: %s', async (name, value) => {
    const { status, text, costMs } = await sendField(name, value)
    expect([status, await isAlive()]).toEqual([400, true])
    expect(text).toContain("We don't know one of this form's fields")
    expect(costMs).toBeLessThan(ProcessorMs)
  })
})

test.each(pages)('%s: a form of 501 fields is 400, one of 500 is read, and neither costs much', async (path) => {
  const alike = (count: number) => Array.from({ length: count }, (): [string, string] => ['a', ''])
  const unlike = (count: number) => Array.from({ length: count }, (_, i): [string, string] => [`a${i}`, ''])
  for (const fields of [alike, unlike])
    for (const count of [500, 501, 20_000])
      for (const [type, body] of [
        [UrlEncoded, new URLSearchParams(fields(count)).toString()],
        [Multipart, multipart(fields(count))],
      ] as const)
        for (const as of ['ada', 'nobody'] as const) {
          const { status, text, costMs } = await send(path, type, body, as)
          if (as === 'ada' && count > 500) expect([400, 404, 413]).toContain(status)
          if (as === 'ada' && status === 400 && !path.includes(NoPost))
            // which is 404 for another reason
            expect([type, count, text.includes('at most 500 fields')]).toEqual([type, count, count > 500])
          expect([type, count, status < 500, costMs < ProcessorMs || costMs]).toEqual([type, count, true, true])
        }
})

test('a viewer who sends the composer is refused at once with the reason', async () => {
  const files = Array.from({ length: 480 }, (_, i) => `mediaIds=${i}&alt.${i}=x`).slice(0, 240)
  const refusals: [Role, RegExp][] = [
    ['viewer', /This requires the role editor/],
    ['owner', /At most 20 files|Not found\./],
  ]
  for (const [role, refusal] of refusals) {
    await w.db.update(memberships).set({ role })
    const { status, text, costMs } = await send('/posts/new', UrlEncoded, `intent=draft&content=x&${files.join('&')}`)
    expect([role, status >= 400 && status < 500, refusal.test(text)]).toEqual([role, true, true])
    expect(costMs).toBeLessThan(ProcessorMs)
  }
})

test('a form is counted while it is read: what comes after the 500th field is not waited for', async () => {
  const endless = new ReadableStream({
    start: (stream) => stream.enqueue(new TextEncoder().encode('a=&'.repeat(600))),
  })
  const response = await fetch(`${w.site.appUrl}/login`, {
    ...{ method: 'POST', body: endless, duplex: 'half' },
    headers: { origin: w.site.appUrl, 'content-type': UrlEncoded },
  } as RequestInit)
  expect([response.status, (await response.text()).includes('at most 500 fields')]).toEqual([400, true])
})

const KiB = 1024
test.each([
  ['/login', 'nobody', 64 * KiB],
  ['/signup', 'nobody', 64 * KiB],
  ['/posts/new', 'nobody', 64 * KiB],
  ['/posts/new', 'ada', 1280 * KiB],
] as const)('%s as %s: as many bytes as a form may have cost little, whatever they are', async (path, as, bytes) => {
  const most = bytes - 100
  const x = path === '/posts/new' ? 'content' : 'email'
  for (const [type, body] of [
    [UrlEncoded, `${x}=`.padEnd(most, '%')],
    [UrlEncoded, `${x}=`.padEnd(most, '%e2%82%ac')],
    [UrlEncoded, `${x}=`.padEnd(most, '+')],
    [UrlEncoded, `${x}=`.padEnd(most, '<')],
    [UrlEncoded, `${x}=`.padEnd(most, '%00')],
    [UrlEncoded, '&'.repeat(most)],
    [UrlEncoded, '='.repeat(most)],
    [Multipart, '--x\r\n'.repeat(most / 5)],
    [Multipart, '\r\n--'.repeat(most / 4)],
    [Multipart, `--x\r\n${'A: b\r\n'.repeat(most / 6)}`],
    [Multipart, `--x\r\nContent-Disposition: form-data; ${'a="b"; '.repeat(most / 7 - 10)}\r\n\r\n`],
    [Multipart, multipart([[x, '\r\n-'.repeat((most - 200) / 3)]])],
    [`multipart/form-data; boundary=${'-'.repeat(70)}`, '\r\n-'.padEnd(most, '-')],
  ] as const) {
    const { status, costMs } = await send(path, type, body, as)
    const what = `${type} ${body.slice(0, 40)}`
    expect([what, status < 500, costMs < ProcessorMs || costMs]).toEqual([what, true, true])
  }
})
