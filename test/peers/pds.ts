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
  /** A post of the account, by its record key. */
  post: (rkey: string) => Promise<{ uri: string; cid: string; value: PostRecord }>
  posts: () => Promise<PostRecord[]>
  blob: (cid: string) => Promise<Buffer>
  stop: () => Promise<void>
}

/** https://github.com/bluesky-social/atproto/blob/main/lexicons/app/bsky/feed/post.json */
export type PostRecord = {
  text: string
  facets?: { index: { byteStart: number; byteEnd: number }; features: Record<string, unknown>[] }[]
  embed?: {
    images: {
      alt: string
      image: { ref: { $link: string }; size: number; mimeType: string }
      aspectRatio: { width: number; height: number }
    }[]
  }
}

/** What each facet of a post marks, and what it stands for there. */
export function facetsOf({ text, facets = [] }: PostRecord): unknown[] {
  return facets.map(({ index, features: [feature] }) => [
    Buffer.from(text).subarray(index.byteStart, index.byteEnd).toString(),
    feature?.did ?? feature?.uri ?? feature?.tag,
  ])
}

/** The real Bluesky PDS with a PLC directory, in this process, on free ports of localhost; its data is gone after `stop`. */
export async function startPds(): Promise<Pds> {
  const folder = await mkdtemp(join(tmpdir(), 'pds-'))
  const network = await createIn(folder)
  const { url } = network.pds
  const account = await create(url, 'ada.test')
  const friend = await create(url, 'bob.test')
  const name = { name: 'Punctual' }
  const { password } = await call(url, 'com.atproto.server.createAppPassword', name, account.accessJwt)
  const posts = { repo: `${account.did}`, collection: 'app.bsky.feed.post' }
  return {
    url,
    plcUrl: network.plc.url,
    handle: 'ada.test',
    did: `${account.did}`,
    password: `${password}`,
    friend: { handle: 'bob.test', did: `${friend.did}` },
    async post(rkey) {
      const query = { ...posts, rkey }
      return (await read(url, 'com.atproto.repo.getRecord', query)).json() as ReturnType<Pds['post']>
    },
    async posts() {
      const list = await read(url, 'com.atproto.repo.listRecords', { ...posts, limit: '100' })
      const { records } = (await list.json()) as { records: { value: PostRecord }[] }
      return records.map(({ value }) => value)
    },
    async blob(cid) {
      const answer = await read(url, 'com.atproto.sync.getBlob', { did: `${account.did}`, cid })
      return Buffer.from(await answer.arrayBuffer())
    },
    async stop() {
      await network.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function createIn(folder: string) {
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder // where dev-env puts its data
  const { TestNetworkNoAppView } = await import('@atproto/dev-env')
  const network = await TestNetworkNoAppView.create({ pds: { hostname: 'localhost' } })
  if (TMPDIR) process.env.TMPDIR = TMPDIR
  else delete process.env.TMPDIR
  return network
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

async function read(url: string, method: string, query: Record<string, string>): Promise<Response> {
  const response = await fetch(`${url}/xrpc/${method}?${new URLSearchParams(query)}`)
  if (!response.ok) throw new Error(`${method} answered ${response.status}: ${await response.text()}`)
  return response
}
