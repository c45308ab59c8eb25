import { afterAll, beforeAll, expect, test } from 'vitest'
import { bluesky } from '../../../../jobs/networks/bluesky/bluesky.ts'
import { ConnectError } from '../../../../jobs/networks/network.ts'
import type { Outbound } from '../../../../jobs/outbound/outbound.ts'
import { outboundToLoopback } from '../http-contract.ts'
import { type Scripted, scripted } from '../scripted-server.ts'
import { type FakePds, fakePds } from './bluesky.fake.ts'

let server: FakePds
let directory: Scripted // the PLC directory, and the handles' own sites: test names have no certificate
let outbound: Outbound
beforeAll(async () => {
  server = await fakePds()
  directory = await scripted({
    'GET /.well-known/atproto-did': () => ({ body: `${server.did}\n` }),
    'GET /.well-known/did.json': () => ({ body: documentOf(server.url) }),
    [`GET /${server.did}`]: () => ({ body: documentOf(server.url) }),
    'GET /did:plc:homeless': () => ({ body: { service: [] } }),
  })
  outbound = withHttpsTo(directory.url, outboundToLoopback())
})
afterAll(async () => {
  await directory.close()
  await server.close()
})

const documentOf = (pds: string) => ({
  service: [
    { id: '#other', type: 'Other', serviceEndpoint: { a: 1 } },
    { id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: pds },
  ],
})

function withHttpsTo(url: string, real: Outbound): Outbound {
  return { ...real, get: (asked, options) => real.get(asked.replace(/^https:\/\/[^/]+/, url), options) }
}

async function connect(input: Record<string, string>) {
  const { connecting } = bluesky(directory.url)
  if (connecting.by !== 'form') throw new Error('Bluesky is connected by a form.')
  return connecting.connect({ appPassword: server.password, ...input }, outbound)
}

test('an account is connected on the server that the member enters', async () => {
  const { did, accessJwt, refreshJwt, url } = server
  expect(await connect({ handle: '@Ada.test ', pds: url })).toMatchObject({
    remoteAccount: did,
    name: 'Ada L.',
    handle: '@ada.test',
    url: `https://bsky.app/profile/${did}`,
    pictureUrl: `${url}/xrpc/com.atproto.sync.getBlob?did=${encodeURIComponent(did)}&cid=bafyada`,
    limits: { textLength: 300, textUnit: 'graphemes', textBytes: 3000, mediaCount: 4 },
    credential: { pds: url, did, handle: 'ada.test', accessJwt, refreshJwt },
  })
})

test('the server is found from the handle, from a DID in the directory and from a did:web', async () => {
  for (const handle of ['ada.test', server.did]) {
    expect(await connect({ handle }), handle).toMatchObject({ credential: { pds: server.url } })
  }
  await expect(connect({ handle: 'did:web:ada.test' })).rejects.toThrow('The handle or the app password is wrong.')
  expect(server.received.at(-1)?.json()).toMatchObject({ identifier: 'did:web:ada.test' })
})

test('a name loses invisible characters and is cut at 100 characters', async () => {
  const named = (displayName: string) => {
    const body = { uri: 'at://x', value: { displayName } }
    server.next('GET /xrpc/com.atproto.repo.getRecord', { status: 200, body })
    return connect({ handle: 'ada.test', pds: server.url })
  }
  expect(await named(`Ada\u202E\n${'L'.repeat(200)}`)).toMatchObject({ name: `Ada ${'L'.repeat(96)}` })
  expect(await named('\u2066\u200B')).toMatchObject({ name: 'ada.test', handle: '@ada.test' })
})

test('each wrong input is reported at its field', async () => {
  const elsewhere = { error: 'AuthFactorTokenRequired', message: 'x' }
  server.next('POST /xrpc/com.atproto.server.createSession', { status: 401, body: elsewhere })
  for (const [input, field] of [
    [{ handle: 'ada.test', pds: server.url }, 'appPassword'], // the server asks for a code by e-mail
    [{ handle: 'ada.test', pds: server.url, appPassword: 'wrong' }, 'appPassword'],
    [{ handle: 'ada.test', pds: server.url, appPassword: ' ' }, 'appPassword'],
    [{ handle: 'ada', pds: server.url }, 'handle'],
    [{ handle: '', pds: server.url }, 'handle'],
    [{ handle: 'did:plc:homeless' }, 'handle'],
    [{ handle: 'ada.test', pds: 'http://pds.example' }, 'pds'],
    [{ handle: 'ada.test', pds: 'http://10.0.0.1' }, 'pds'],
    [{ handle: 'ada.test', pds: directory.url }, 'pds'],
  ] as const) {
    const error = await connect(input).catch((thrown) => thrown)
    expect(error, JSON.stringify(input)).toBeInstanceOf(ConnectError)
    expect(error).toMatchObject({ field })
  }
})

test('a server that returns an invalid DID is rejected', async () => {
  const body = { did: 'javascript:alert(1)', handle: 'ada.test', accessJwt: 'a', refreshJwt: 'b' }
  server.next('POST /xrpc/com.atproto.server.createSession', { status: 200, body })
  await expect(connect({ handle: 'ada.test', pds: server.url })).rejects.toThrow(
    'does not answer like a Bluesky server',
  )
})

test('an invalid handle, DID or server is reported at its field, in every encoding', async () => {
  for (const handle of [
    'did:web:%zz',
    'did:web:',
    'did:web:a%3A99999',
    'did:web:%00',
    'did:web:x%2f..%2fy',
    'did:plc:%',
  ])
    expect([handle, await connect({ handle }).catch((thrown) => thrown)]).toMatchObject([handle, { field: 'handle' }])
  for (const pds of ['did:web:%zz', 'https://%zz', 'https://x:99999', '%', 'http://'])
    expect([pds, await connect({ handle: 'ada.test', pds }).catch((thrown) => thrown)]).toMatchObject([
      pds,
      { field: 'pds' },
    ])
})

test('a server that answers for another account is rejected', async () => {
  const body = { did: 'did:plc:mallory', handle: 'ada.test', accessJwt: 'a', refreshJwt: 'b' }
  server.next('POST /xrpc/com.atproto.server.createSession', { status: 200, body })
  await expect(connect({ handle: 'ada.test' })).rejects.toThrow('answered for another account')
})
