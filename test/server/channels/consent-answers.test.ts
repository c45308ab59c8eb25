import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Api } from '../../../server/router.ts'
import { type FakeMastodon, fakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'
import { type World, world } from '../../world.ts'
import { ownerIn } from '../web.ts'
import { beginAt, comeBack as comeBackTo } from './consent.ts'

// What comes back from a consent page, with servers that are not what they seem.

let w: World
let api: Api
let close: () => Promise<void>
const servers: FakeMastodon[] = []
beforeAll(async () => {
  w = await world()
  ;({ api, close } = await ownerIn(w))
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
afterAll(async () => {
  await close()
  await w.end()
})

async function aServer(ways: Parameters<typeof fakeMastodon>[0] = {}) {
  const server = await fakeMastodon(ways)
  servers.push(server)
  return server
}

const begin = (server: FakeMastodon) => beginAt(api, server)
const comeBack = (url: URL) => comeBackTo(api, url)
const detailOf = (call: Promise<unknown>) =>
  call.then(
    () => 'connected',
    (error: { detail?: string }) => error.detail ?? String(error),
  )
const codesAt = ({ received }: FakeMastodon) =>
  received.flatMap(({ route, body }) =>
    route === 'POST /oauth/token' ? new URLSearchParams(`${body}`).getAll('code') : [],
  )
const hostOf = ({ url }: FakeMastodon) => new URL(url).host

test('the code of another server than the one that was asked is sent to neither of them', async () => {
  const [honest, evil] = [await aServer(), await aServer()]
  const [atHonest, atEvil] = [await begin(honest), new URL(await begin(evil))]
  // The evil server sends the person on to the honest one's consent page, with the state of its own flow.
  const mixed = new URL(atHonest)
  mixed.searchParams.set('state', atEvil.searchParams.get('state')!)
  const back = honest.consent(mixed.href)
  expect(await detailOf(comeBack(back))).toContain(`did not come from ${hostOf(evil)}`)
  expect([codesAt(evil), codesAt(honest)]).toEqual([[], []])
})

test('an answer that names another server than the one that was asked is refused, and one that names this one is not', async () => {
  const [honest, evil] = [await aServer({ namesIssuer: true }), await aServer()]
  const forged = honest.consent(await begin(honest), { iss: evil.url })
  expect(await detailOf(comeBack(forged))).toContain(`did not come from ${hostOf(honest)}`)
  const unnamed = honest.consent(await begin(honest))
  expect(await detailOf(comeBack(unnamed))).toContain(`did not come from ${hostOf(honest)}`)
  expect(codesAt(honest)).toEqual([])
  const right = honest.consent(await begin(honest), { iss: `${honest.url}/` })
  expect(await detailOf(comeBack(right))).toBe('connected')
})

test('a server that says it is another one is known by its address alone', async () => {
  const [honest, evil] = [await aServer(), await aServer()]
  const body = { issuer: honest.url, code_challenge_methods_supported: ['S256'] }
  evil.next('GET /.well-known/oauth-authorization-server', { status: 200, body })
  const back = evil.consent(await begin(evil), { iss: honest.url })
  expect(await detailOf(comeBack(back))).toContain(`did not come from ${hostOf(evil)}`)
})

test('a refusal names the server, and uses the flow up', async () => {
  const server = await aServer()
  const back = server.consent(await begin(server))
  back.searchParams.delete('code')
  back.searchParams.set('error', 'access_denied')
  expect(await detailOf(comeBack(back))).toBe(`You did not approve the connection on ${hostOf(server)}.`)
  expect(await detailOf(comeBack(back))).toContain('started too long ago')
  const other = server.consent(await begin(server))
  other.searchParams.delete('code')
  other.searchParams.set('error', '<b>server_error</b>')
  expect(await detailOf(comeBack(other))).toBe(
    `${hostOf(server)} refused the connection (bserver_errorb). Connect again.`,
  )
})

test('how long a connection may take goes by the clock of the database, also when that of the process is wrong', async () => {
  const server = await aServer()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  const url = await begin(server).finally(() => vi.useRealTimers())
  expect(await comeBack(server.consent(url))).toMatchObject({ status: 'ACTIVE' })
})

test('a server’s mistake during connecting is explained with its name', async () => {
  const server = await aServer()
  server.next('POST /api/v1/apps', 'reset before')
  const failed = api.channels.connect({ network: 'mastodon', input: { instance: server.url } })
  expect(await detailOf(failed)).toContain(`${hostOf(server)} did not answer.`)
  const back = server.consent(await begin(server))
  server.next('GET /api/v1/accounts/verify_credentials', { status: 503, body: 'busy' })
  expect(await detailOf(comeBack(back))).toContain(`${hostOf(server)} did not complete the connection`)
})
