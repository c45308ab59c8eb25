import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { mastodon } from '../../../../jobs/networks/mastodon/mastodon.ts'
import { ConnectError } from '../../../../jobs/networks/network.ts'
import { outboundToLoopback } from '../http-contract.ts'
import { type FakeMastodon, fakeMastodon } from './mastodon.fake.ts'
import { registrationsInMemory } from './registrations.ts'

const redirectUri = 'http://localhost:3000/channels/connected'
const access = { outbound: outboundToLoopback(), registrations: registrationsInMemory() }
const { connecting } = mastodon
if (connecting.by !== 'redirect') throw new Error('Mastodon is connected by a redirect.')
const begin = (input: Record<string, string>) =>
  (connecting as Redirecting).begin(input, { redirectUri, state: 'st' }, access)

/** Returns to what `begin` kept, as from the consent page of the server. */
function finish(kept: unknown, code: string) {
  const flow = JSON.parse(JSON.stringify(kept)) as { redirectUri: string }
  const server = flow.redirectUri.slice(`${redirectUri}/`.length)
  return (connecting as Redirecting).finish(flow, { server, code, error: null, iss: null }, access)
}
type Redirecting = Extract<typeof connecting, { by: 'redirect' }>

const servers: FakeMastodon[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function aServer(options: Parameters<typeof fakeMastodon>[0] = {}) {
  const server = await fakeMastodon(options)
  servers.push(server)
  return server
}

test('a member goes to the consent page and comes back with a channel, using PKCE if the server offers it', async () => {
  const server = await aServer()
  const { url, kept } = await begin({ instance: server.url })
  const page = new URL(url)
  expect(`${page.origin}${page.pathname}`).toBe(`${server.url}/oauth/authorize`)
  expect(page.searchParams.get('redirect_uri')).toMatch(new RegExp(`^${redirectUri}/[\\w-]{22}$`))
  expect(page.searchParams.get('state')).toBe('st')
  expect(page.searchParams.get('code_challenge_method')).toBe('S256')

  const account = await finish(kept, server.code)
  const verifier = new URLSearchParams(`${server.received.find((r) => r.route === 'POST /oauth/token')?.body}`)
  const challenge = createHash('sha256')
    .update(verifier.get('code_verifier') ?? '')
    .digest('base64url')
  expect(page.searchParams.get('code_challenge')).toBe(challenge)
  const host = new URL(server.url).host
  expect(account).toEqual({
    remoteAccount: `${host}/11`,
    name: 'Ada L.',
    handle: `@ada@${host}`,
    url: 'https://x.test/@ada',
    pictureUrl: 'https://x.test/a.png',
    limits: {
      textLength: 700,
      textUnit: 'characters',
      urlsCountAs: 23,
      mediaCount: 4,
      mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
    },
    credential: {
      ...{ instance: server.url, token: server.token, accountId: '11', clockAheadMs: expect.any(Number) },
      ...{ clientId: [...server.apps.keys()][0], clientSecret: [...server.apps.values()][0]!.secret },
    },
  })
})

test('a server without PKCE and without the newer instance endpoint is connected too', async () => {
  const server = await aServer({ pkce: false, v2: false })
  const { url, kept } = await begin({ instance: server.url })
  expect(new URL(url).searchParams.has('code_challenge')).toBe(false)
  const account = await finish(kept, server.code)
  expect(account.limits).toMatchObject({ textLength: 900, mediaCount: 4 })
})

test('the server decides which videos it accepts, and how large', async () => {
  const server = await aServer()
  const { kept } = await begin({ instance: server.url })
  const media_attachments = { supported_mime_types: ['image/png', 'video/mp4', 'video/ogg'], video_size_limit: 1000 }
  server.next('GET /api/v2/instance', { status: 200, body: { configuration: { media_attachments } } })
  const { limits } = await finish(kept, server.code)
  expect(limits).toMatchObject({ mediaTypes: ['image/png', 'video/mp4'], videoBytes: 1000 })
})

test('Mastodon itself takes a video only without other files, and other servers may take both', async () => {
  const server = await aServer()
  const { kept } = await begin({ instance: server.url })
  const limitsWith = async (software: object) => {
    server.next('GET /api/v2/instance', { status: 200, body: { configuration: {}, ...software } })
    return (await finish(kept, server.code)).limits.videoAlone
  }
  expect(await limitsWith({ version: '4.5.2', source_url: 'https://github.com/mastodon/mastodon' })).toBe(true)
  expect(await limitsWith({ version: '2.7.2 (compatible; Pleroma 2.10.0)' })).toBeUndefined()
})

test('names lose invisible characters and are cut at 100 characters', async () => {
  const server = await aServer()
  const { host } = new URL(server.url)
  const { kept } = await begin({ instance: server.url })
  const connected = (more: object) => {
    server.next('GET /api/v1/accounts/verify_credentials', { status: 200, body: { id: '11', ...more } })
    return finish(kept, server.code)
  }
  expect(await connected({ username: 'a\u202Eda\0', display_name: `Ada\u202E\n${'L'.repeat(200)}` })).toMatchObject({
    ...{ name: `Ada ${'L'.repeat(96)}`, handle: `@ada@${host}` },
  })
  expect(await connected({ username: 'ada', display_name: '\u200B\u2066' })).toMatchObject({ name: 'ada' })
  expect(await connected({ username: '\u200B', display_name: null })).toMatchObject({ name: host })
})

test('a link of the account or its picture that is not http(s) counts as absent', async () => {
  const server = await aServer()
  const { kept } = await begin({ instance: server.url })
  const body = { id: '11', username: 'ada', url: 'javascript:alert(1)', avatar_static: 'file:///etc/passwd' }
  server.next('GET /api/v1/accounts/verify_credentials', { status: 200, body })
  const account = await finish(kept, server.code)
  expect(account).toMatchObject({ name: 'ada', url: null, pictureUrl: null })
})

test('the error for a wrong code, and for a server that is no Mastodon server, says what is wrong', async () => {
  const server = await aServer()
  const { kept } = await begin({ instance: server.url })
  await expect(finish(kept, 'stolen')).rejects.toThrow('The code is not good.')

  const none = await aServer()
  none.next(
    'POST /api/v1/apps',
    { status: 200, body: '<html>' },
    { status: 301, headers: { location: 'https://a.test/x' } },
  )
  await expect(begin({ instance: none.url })).rejects.toMatchObject({
    field: 'instance',
    message: expect.stringContaining('does not answer like a Mastodon server'),
  })
  await expect(begin({ instance: none.url })).rejects.toThrow('https://a.test')
})

test('an address that cannot be reached, is not public or is not encrypted is reported at its field', async () => {
  for (const instance of [
    'http://10.0.0.1',
    'http://[::1]:1',
    'http://social.example',
    '',
    'a b',
    'http://127.0.0.1:1',
  ]) {
    const failure = await begin({ instance }).catch((error) => error)
    expect(failure, instance).toBeInstanceOf(ConnectError)
    expect(failure).toMatchObject({ field: 'instance' })
  }
})
