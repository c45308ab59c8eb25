import { randomUUID } from 'node:crypto'
import { type Received, type Reply, type Scripted, scripted } from '../scripted-server.ts'

export type FakePds = Scripted & {
  did: string
  password: string
  accessJwt: string
  refreshJwt: string
  records: Map<string, Record<string, unknown>> // by record key
  blobs: { mime: string; bytes: Buffer }[]
}

/** The part of a PDS that we call, with one account, ada.test. */
export async function fakePds(): Promise<FakePds> {
  const state = {
    did: 'did:plc:ada234567ada234567ada234',
    password: randomUUID(),
    accessJwt: `access-${randomUUID()}`,
    refreshJwt: `refresh-${randomUUID()}`,
    records: new Map<string, Record<string, unknown>>(),
    blobs: [] as { mime: string; bytes: Buffer }[],
  }
  const tokens = () => ({
    did: state.did,
    handle: 'ada.test',
    accessJwt: state.accessJwt,
    refreshJwt: state.refreshJwt,
  })
  const bearing = (kind: 'accessJwt' | 'refreshJwt', handler: (request: Received) => Reply) => (request: Received) =>
    request.headers.authorization === `Bearer ${state[kind]}`
      ? handler(request)
      : { status: 400, body: { error: 'ExpiredToken', message: 'Token has expired' } }

  const server = await scripted({
    'POST /xrpc/com.atproto.server.createSession': (request) => {
      const { identifier, password } = request.json()
      if (password === state.password && (identifier === state.did || identifier === 'ada.test'))
        return { body: tokens() }
      return { status: 401, body: { error: 'AuthenticationRequired', message: 'Invalid identifier or password' } }
    },
    'POST /xrpc/com.atproto.server.refreshSession': bearing('refreshJwt', () => {
      state.accessJwt = `access-${randomUUID()}`
      state.refreshJwt = `refresh-${randomUUID()}`
      Object.assign(server, state)
      return { body: tokens() }
    }),
    'POST /xrpc/com.atproto.server.deleteSession': bearing('refreshJwt', () => ({ body: '' })),
    'GET /xrpc/com.atproto.identity.resolveHandle': bearing('accessJwt', ({ query }) =>
      query.get('handle') === 'bob.test'
        ? { body: { did: 'did:plc:bob' } }
        : { status: 400, body: { error: 'InvalidRequest', message: 'Unable to resolve handle' } },
    ),
    'GET /xrpc/com.atproto.repo.getRecord': () => ({
      body: { value: { displayName: 'Ada L.', avatar: { $type: 'blob', ref: { $link: 'bafyada' } } } },
    }),
    'POST /xrpc/com.atproto.repo.uploadBlob': bearing('accessJwt', ({ headers, body }) => {
      state.blobs.push({ mime: `${headers['content-type']}`, bytes: body })
      const ref = { $link: `bafy${state.blobs.length}` }
      return { body: { blob: { $type: 'blob', ref, mimeType: headers['content-type'], size: body.length } } }
    }),
    'POST /xrpc/com.atproto.repo.putRecord': bearing('accessJwt', (request) => {
      const { repo, collection, rkey, record } = request.json()
      state.records.set(`${rkey}`, record as Record<string, unknown>)
      return { body: { uri: `at://${repo}/${collection}/${rkey}`, cid: 'bafyrecord' } }
    }),
  })
  return Object.assign(server, state)
}
