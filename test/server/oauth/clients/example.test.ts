import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aChannel } from '../../../builders.ts'
import { freePort } from '../../../port.ts'
import { until } from '../../../processes.ts'
import { anApp, approved, type Flow, openFlow, send, type Word } from '../flow.ts'

const Source = `${import.meta.dirname}/example-app.ts`

let f: Flow
let site: string
let stop = () => {}
beforeAll(async () => {
  f = await openFlow()
  await aChannel(f.db, f.site.secretKey, { organisationId: f.approver.organisationId, network: 'feed' })
  const port = await freePort()
  site = `http://localhost:${port}`
  const { clientId, clientSecret } = await anApp(f.maker, [`${site}/callback`], 'Example')
  const env = { PUNCTUAL_API: f.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, PORT: String(port) }
  const app = spawn(process.execPath, [Source], {
    env: { NODE_ENV: 'test', PATH: process.env.PATH ?? '', ...env },
    stdio: 'inherit',
  })
  stop = () => void app.kill()
  await until(() =>
    fetch(site).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
})
afterAll(async () => {
  stop()
  await f.end()
})

/** A browser of somebody's: it keeps the app's cookie. */
async function aBrowser() {
  const cookie = (await send(site)).headers.get('set-cookie')!.split(';')[0]!
  const go = (path: string, method = 'GET') => send(new URL(path, site).href, { method, headers: { cookie } })
  /** Follow Connect to our consent page, answer it, and return where the app then lives. */
  const connect = async (word: Word = {}) => {
    const { headers } = await go('/connect')
    return approved(f, new URL(headers.get('location')!).search.slice(1), word)
  }
  return { go, connect }
}

test('the example app connects an account, posts, and disconnects', async () => {
  const { go, connect } = await aBrowser()
  expect((await go(String(await connect()))).headers.get('location')).toBe('/')
  expect((await go('/')).text).toContain('disconnect')
  const made = await go('/post', 'POST')
  expect(made).toMatchObject({ status: 201, json: { createdBy: { kind: 'app', name: 'Example' } } })
  expect((await f.approver.api.approvedApps.list())[0]).toMatchObject({ name: 'Example', tokens: 1 })
  await go('/disconnect', 'POST')
  expect(await f.approver.api.approvedApps.list()).toEqual([])
  expect((await go('/')).text).toContain('Connect Punctual')
})

test('the example app refuses an answer that this browser did not ask for, and takes a no', async () => {
  const [victim, attacker] = [await aBrowser(), await aBrowser()]
  const stolen = String(await attacker.connect())
  expect((await victim.go(stolen)).status).toBe(400)
  await victim.connect()
  expect(await victim.go(stolen)).toMatchObject({ status: 400, text: 'We could not verify this answer.' }) // state differs
  expect((await victim.go(String(await victim.connect({ decision: 'deny' })))).text).toBe('You denied access.')
})

test('the example app takes an answer once, and says in words what an answer says', async () => {
  const { go, connect } = await aBrowser()
  const answer = String(await connect())
  expect((await go(answer)).headers.get('location')).toBe('/')
  expect(await go(answer)).toMatchObject({
    status: 400,
    text: 'This connection did not start in this browser, or is already complete.',
  })

  const { headers } = await go('/connect')
  const url = new URL(headers.get('location')!)
  url.searchParams.set('scope', 'mistyped')
  const refused = await f.approver.api.authorize.begin({ query: url.search.slice(1) })
  const said = await go(refused.kind === 'redirect' ? refused.url : '')
  expect(said).toMatchObject({ status: 400, text: expect.stringMatching(/^invalid_scope: \w/) })
})

test('docs/oauth.md shows the example app as it runs here', async () => {
  const docs = await readFile(`${import.meta.dirname}/../../../../docs/oauth.md`, 'utf8')
  expect(docs).toContain(await readFile(Source, 'utf8'))
})
