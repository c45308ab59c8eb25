import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aBrowser } from '../server/browser.ts'
import { type Flow, openFlow, queryFor } from '../server/oauth/flow.ts'

let f: Flow
let browser: ReturnType<typeof aBrowser>
beforeAll(async () => {
  f = await openFlow({ hosts: 'one', env: { AUTH_RATE_LIMIT: '0' } })
  browser = aBrowser(f.appUrl, { cookie: f.maker.cookie })
})
afterAll(() => f.end())

/** Send a target as it is: clients tidy it up. */
async function raw(target: string): Promise<string> {
  const socket = connect(f.site.port, 'localhost')
  const { host } = new URL(f.appUrl)
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${f.maker.cookie}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  await once(socket, 'close')
  return text
}

test('the consent page has its own headers under every address that shows it', async () => {
  const paths = [
    '/oauth/authorize',
    '/oauth/authorize/',
    '/oauth/authorize//',
    '/OAuth/Authorize',
    '/%6fauth/authorize',
  ]
  paths.push(
    '/oauth/%61uthorize',
    '/oauth\\authorize',
    '/x/../oauth/authorize',
    '/%2e/oauth/authorize',
    '/./oauth/authorize',
  )
  paths.push('//oauth/authorize', '/oauth//authorize', '/oauth%2fauthorize', '/%256fauth/authorize')
  let shown = 0
  for (const path of paths)
    for (const rest of [
      `?${queryFor(f.app)}`,
      `?${queryFor(f.app)}&_data=routes/oauth.authorize`,
      `#?${queryFor(f.app)}`,
    ]) {
      const answer = await raw(path + rest)
      if (!/^HTTP\/1.1 200/.test(answer)) continue
      shown++
      expect([path, rest, answer.match(/form-action [^;]*/)?.[0]]).toEqual([
        path,
        rest,
        "form-action 'self' https: http:",
      ])
      expect(answer).toMatch(/^Referrer-Policy: strict-origin\r$/im)
    }
  expect(shown).toBeGreaterThanOrEqual(4)
})

test('an address that is spelled otherwise than ours is that of nothing', async () => {
  for (const path of ['/%6cogin', '/x/../login', '/login#x', '/./login', '/%2e%2e/login', '/%73ettings/account'])
    expect([path, (await raw(path)).split('\r\n')[0]]).toEqual([path, 'HTTP/1.1 404 Not Found'])
  expect(await raw('/login?next=/%70osts%2e')).toMatch(/^HTTP\/1.1 302/) // a query is whatever it is
})

test('a request that is too long to be kept during sign-in gets an error; any other comes back whole', async () => {
  const strange = aBrowser(f.appUrl)
  const ada = { email: 'ada@example.org', password: 'a good password' }
  await aBrowser(f.appUrl).post('/signup', { ...ada, name: 'Ada', organisation: 'Works' })
  for (const [characters, status] of [
    [100, 302],
    [1000, 302],
    [3000, 400],
  ] as const) {
    const path = `/oauth/authorize?${queryFor(f.app)}&nonsense=${'%C3'.repeat(characters)}`
    const answer = await strange.get(path)
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.text).toContain('too long to keep while you sign in')
    else {
      const back = await strange.post(answer.headers.get('location')!, ada)
      expect([back.status, back.headers.get('location')]).toEqual([302, path])
      strange.jar.cookie = ''
    }
  }
})

test('a consent gives only the reach that its form names', async () => {
  const path = `/oauth/authorize?${queryFor(f.app)}`
  for (const reach of [{}, { reach: '' }, { reach: 'SOME' }, { reach: 'every' }, { channelIds: 'x' }]) {
    const { text } = await browser.get(path)
    const request = text.match(/name="request" value="([^"]+)"/)![1]!
    const answer = await browser.post(path, { request, decision: 'approve', ...reach })
    expect([reach, answer.status, answer.headers.get('location')]).toEqual([reach, 400, null])
    expect(answer.text).toContain('Choose which channels this app can use.')
    expect((await browser.post(path, { request, decision: 'approve', reach: 'all' })).status).toBe(303)
  }
})

test('a text where a picture belongs is no picture', async () => {
  const { id, name, redirectUri } = f.app
  const form = new FormData()
  const fields = { intent: 'save', id, name, description: 'Plainer', redirectUris: redirectUri, picture: 'p.png' }
  for (const [field, value] of Object.entries(fields)) form.set(field, value)
  const headers = { origin: f.appUrl, cookie: f.maker.cookie }
  const url = `${f.appUrl}/settings/developers/apps/${id}?index`
  const answer = await fetch(url, { method: 'POST', body: form, headers })
  expect(answer.status).toBe(200)
})
