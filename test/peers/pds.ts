import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Pds = {
  url: string
  plcUrl: string // the directory of DIDs that it registers accounts with
  handle: string
  did: string
  password: string // an app password
  friend: { handle: string; did: string } // somebody to mention
  stop: () => Promise<void>
}

/** The real Bluesky PDS with a PLC directory, in this process, on free ports of localhost; its data is gone after `stop`. */
export async function startPds(): Promise<Pds> {
  const folder = await mkdtemp(join(tmpdir(), 'pds-'))
  process.env.TMPDIR = folder // where dev-env puts its data
  const { TestNetworkNoAppView } = await import('@atproto/dev-env')
  const network = await TestNetworkNoAppView.create({ pds: { hostname: 'localhost' } })
  const { url } = network.pds
  const account = await create(url, 'ada.test')
  const friend = await create(url, 'bob.test')
  const name = { name: 'Punctual' }
  const { password } = await call(url, 'com.atproto.server.createAppPassword', name, account.accessJwt)
  return {
    url,
    plcUrl: network.plc.url,
    handle: 'ada.test',
    did: `${account.did}`,
    password: `${password}`,
    friend: { handle: 'bob.test', did: `${friend.did}` },
    async stop() {
      await network.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function create(url: string, handle: string) {
  const email = `${handle.replace('.', '@')}.example`
  return call(url, 'com.atproto.server.createAccount', { handle, email, password: 'correct horse battery' })
}

async function call(url: string, method: string, body: object, token?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/xrpc/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}
