import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RedirectUri } from '../../../server/oauth/forms.ts'
import { anApp, begin, Callback, consentTo, type Flow, openFlow, queryFor } from './flow.ts'

let f: Flow
beforeAll(async () => {
  f = await openFlow({ web: false })
})
afterAll(() => f.end())

test("RFC 6749 3.1.2: the redirect URL's own query survives", async () => {
  for (const [registered, wanted] of [
    ['https://shop.example/cb?tenant=a%20b&x', 'https://shop.example/cb?tenant=a%20b&x&code='],
    ['https://shop.example/cb?', 'https://shop.example/cb?code='],
    ['https://shop.example?a=1&', 'https://shop.example?a=1&code='],
  ] as const) {
    const app = await anApp(f.maker, [registered])
    const { request } = await consentTo(queryFor(app, { redirect_uri: registered }), f.approver)
    const { url } = await f.approver.api.authorize.decide({ request, decision: 'approve' })
    expect(url.startsWith(wanted), url).toBe(true)
  }
})

describe('a redirect_uri that is not the registered one byte for byte never redirects', () => {
  const variants = [
    ...['https://evil.example/callback', 'https://shop.example.evil.example/callback', 'https://SHOP.example/callback'],
    ...['https://shop.example/Callback', 'https://shop.example/callback/', 'https://shop.example/x/../callback'],
    ...['https://shop.example//callback', 'https://shop.example/callback?x=1', 'https://shop.example/callback?'],
    ...['https://shop.example/callback#', 'https://shop.example/callback#x', 'https://shop.example:443/callback'],
    ...['https://shop.example:8443/callback', 'https://a@shop.example/callback', 'https://shop.example@evil.example/'],
    ...['https://shop.example/%63allback', 'https://shop.example/callback%2F', 'http://shop.example/callback'],
    ...['HTTPS://shop.example/callback', 'https:/shop.example/callback', '//shop.example/callback', '/callback'],
    ...[
      'https://shop.example\\@evil.example/callback',
      ' https://shop.example/callback',
      'https://shop.example/callback ',
    ],
    ...['https://shop.example/callback\n', 'https://shop.example/callback\0', 'https://shop.example./callback'],
    ...['https://shop.example', 'https://shop.example/', 'https://shop.example/call', 'javascript:alert(1)', 'null'],
  ]
  test.each(variants.map((variant) => [JSON.stringify(variant), variant]))('%s', async (_name, variant) => {
    const before = queryFor(f.app, { redirect_uri: variant, scope: 'none' })
    expect(await begin(f, before)).toMatchObject({ kind: 'refused' })
    expect(await f.approver.api.authorize.begin({ query: queryFor(f.app, { redirect_uri: variant }) })).toMatchObject({
      kind: 'refused',
    })
  })

  test('encoded twice', async () => {
    const twice = encodeURIComponent(encodeURIComponent(Callback))
    expect(await begin(f, `${queryFor(f.app)}&redirect_uri=${twice}`)).toMatchObject({ kind: 'refused' })
  })
})

test('RFC 8252 7.3: a loopback address may come with another port, and with nothing else changed', async () => {
  const app = await anApp(f.maker, ['http://127.0.0.1/cb', 'http://[::1]:3000/cb?a=1', 'http://localhost:3000/cb'])
  const kindOf = async (redirect_uri: string) => (await begin(f, queryFor(app, { redirect_uri }))).kind
  for (const good of [
    'http://127.0.0.1/cb',
    'http://127.0.0.1:51004/cb',
    'http://[::1]:9/cb?a=1',
    'http://[::1]/cb?a=1',
  ])
    expect(await kindOf(good), good).toBe('sign_in')
  const bad = [
    ...['http://127.0.0.1:99999/cb', 'http://127.0.0.1:/cb', 'http://127.0.0.1:80a/cb', 'http://127.0.0.1:1/cb/'],
    ...['http://127.0.0.2:1/cb', 'https://127.0.0.1:1/cb', 'http://127.0.0.1:1@evil.example/cb', 'http://[::1]:9/cb'],
    ...['http://localhost:3001/cb', 'http://127.0.0.1:1/cb#', 'http://127.0.0.1.evil.example/cb', 'http://127.1/cb'],
  ]
  for (const one of bad) expect(await kindOf(one), one).toBe('refused')
})

test('redirect URLs are https, or http to loopback, without fragment, user or wildcard, as typed', () => {
  const takes = (uri: string) => RedirectUri.safeParse(uri).success
  for (const good of [
    ...[
      'https://shop.example/callback',
      'https://shop.example',
      'https://shop.example:8443/cb?a=b&c',
      'http://127.0.0.1/',
    ],
    ...[
      'http://127.0.0.1:3000/cb',
      'http://[::1]:3000/cb',
      'http://localhost:3000/cb',
      'https://xn--bcher-kva.example/',
    ],
  ])
    expect(takes(good), good).toBe(true)
  for (const bad of [
    ...['http://shop.example/cb', 'ftp://shop.example/', 'javascript:alert(1)', 'data:text/html,x', 'myapp://callback'],
    ...['https://shop.example/#', 'https://shop.example/#a', 'https://a@shop.example/', 'https://a:b@shop.example/'],
    ...['https://@shop.example/', 'https://:@shop.example/', 'https://*.shop.example/', 'https://shop.example/*'],
    ...['http://localhost.evil.example/', 'http://127.0.0.1.evil.example/', 'http://0.0.0.0/', 'http://127.0.0.2/'],
    ...['http://2130706433/', 'http://0x7f.1/', 'http://127.1/', 'https:shop.example', 'https:/shop.example/a'],
    ...['https:///shop.example/', 'https:\\\\shop.example/', ' https://shop.example/', 'https://shop.example/ '],
    ...['https://shop.example/a b', 'https://shop.example/\n', 'https://bücher.example/', 'shop.example', '', '/cb'],
    `https://shop.example/${'a'.repeat(2000)}`,
  ])
    expect(takes(bad), bad).toBe(false)
})
