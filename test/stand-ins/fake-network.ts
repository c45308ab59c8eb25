import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import {
  type ConnectedAccount,
  type Network,
  PublishError,
  type RepeatedSend,
  type Session,
} from '../../jobs/networks/network.ts'
import { retryAtOf } from '../../jobs/networks/verdict.ts'
import type { Answer as HttpAnswer } from '../../jobs/outbound/outbound.ts'

/** What a network can be asked when an answer is lost, of each kind. */
export const kinds = ['keyed', 'two-step', 'readable', 'blind'] as const
export type Kind = (typeof kinds)[number]

/** What the fake saw: one a request that it was asked to publish, whether it then showed it or not. `endedAt` 0: not answered while its sender listened. */
export type Received = z.infer<typeof Publish> & { token: string; at: number; endedAt: number }

/** What the fake shows to everybody. */
export type Shown = Received & { id: string }

/** One request for what is there: of an account or a container. */
export type Reading = { of: string; at: number; endedAt: number }

/** What the fake does with one request: the default shows the post and answers 200 with its id. */
export type Behaviour = (request: Received, answer: Answer) => Promise<void> | void
export type Answer = {
  /** Make the post visible and return its id. */
  show: () => string
  reply: (status: number, body: unknown, headers?: Record<string, string>) => void
  reset: () => void
  /** Begin to answer, and go on a byte at a time. */
  drip: () => void
}

const Publish = z.object({
  network: z.string(),
  kind: z.enum(kinds),
  account: z.string(),
  key: z.string(),
  text: z.string(),
  container: z.string().optional(), // two-step: what is made public; a second time is the same post
})

/** What a refresh of a token gives: a new one, or the status of a refusal. */
export type Refreshing = (token: string) => Promise<string | number> | string | number

/** A social network on loopback that records every publish and every refresh, and misbehaves by script. */
export async function startFakeServer() {
  const received: Received[] = []
  const posts: Shown[] = []
  const refreshes: string[] = []
  const readings: Reading[] = []
  const honest = {
    behave: publishAndAnswer,
    isTokenGood: (_token: string) => true,
    read: async () => {}, // before a reading is answered
    refresh: (() => 401) as Refreshing,
  }
  const fake = { received, posts, refreshes, readings, ...honest }
  const server = createServer(async (req, res) => {
    const token = req.headers.authorization ?? ''
    const [, path, id] = req.url?.split('/') ?? []
    const body = await bodyOf(req).catch(() => null)
    if (body === null) return // its sender was killed
    if (path === 'refresh') {
      refreshes.push(token)
      const fresh = await fake.refresh(token)
      return typeof fresh === 'number' ? reply(res, fresh, '') : reply(res, 200, { token: fresh })
    }
    if (!fake.isTokenGood(token)) return void res.writeHead(401).end()
    if (path === 'containers') return reply(res, 200, { container: randomUUID() })
    if (path === 'posts') {
      const reading: Reading = { of: id!, at: Date.now(), endedAt: Number.POSITIVE_INFINITY }
      readings.push(reading)
      await fake.read()
      reading.endedAt = Date.now()
      const own = posts.filter(({ account, container }) => id === account || id === container)
      return reply(res, 200, own)
    }
    const request = { ...Publish.parse(JSON.parse(body)), token, at: Date.now(), endedAt: 0 }
    received.push(request)
    const end = () => {
      if (!res.destroyed) request.endedAt = Date.now()
    }
    await fake.behave(request, {
      show: () => show(posts, request),
      reply: (...answer) => {
        end()
        reply(res, ...answer)
      },
      reset: () => {
        end()
        res.socket?.resetAndDestroy()
      },
      drip: () => drip(res),
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const end = () => new Promise<void>((done) => server.close(() => done()) && server.closeAllConnections())
  const reset = () => {
    Object.assign(fake, honest)
    for (const record of [received, posts, refreshes, readings]) record.length = 0
  }
  return Object.assign(fake, { url, end, reset })
}

function show(posts: Shown[], request: Received): string {
  const { kind, key, container } = request
  const isSame = (post: Shown) =>
    kind === 'keyed' ? post.key === key : container !== undefined && post.container === container
  const same = posts.find(isSame)
  if (same) return same.id
  const post = { ...request, id: randomUUID() }
  posts.push(post)
  return post.id
}

/** How a fake network declares itself to the worker; given to test/worker.ts as JSON. `canRefresh`: by asking the fake. */
export type FakeNetwork = {
  name: string
  url: string
  repeatedSend: RepeatedSend
  settlesWithinMs?: number
  refreshTo?: string
  canRefresh?: boolean
}

/** The network that talks to a fake server. */
export function fakeNetwork(network: FakeNetwork): Network {
  const { name, url, repeatedSend, settlesWithinMs = 100, refreshTo, canRefresh } = network
  const refresh = canRefresh ? refreshAt(url) : refreshTo === undefined ? undefined : async () => ({ token: refreshTo })
  return {
    name,
    repeatedSend,
    settlesWithinMs,
    verifiedAgainst: 'a fake of the tests',
    connecting: { by: 'form', connect },
    async prepare({ text, media }, _key, session) {
      for (const file of media) await file.read()
      if (repeatedSend !== 'two-step') return { text }
      const answer = await session.outbound.post(`${url}/containers`, { json: {}, ...authorized(session) })
      if (!answer.ok) throw failureOf(answer)
      return { text, container: Container.parse(answer.json()).container }
    },
    async send({ publishKey, prepared }, session) {
      const json = {
        network: name,
        kind: repeatedSend,
        account: session.remoteAccount,
        key: publishKey,
        ...(prepared as Prepared),
      }
      const answer = await session.outbound.post(`${url}/publish`, { json, ...authorized(session), timeoutMs: 14_000 })
      if (!answer.ok) throw failureOf(answer)
      const { id } = z.object({ id: z.string() }).parse(answer.json())
      return { remoteId: id, url: `${url}/posts/${id}`, status: answer.status, reply: answer.text() }
    },
    async find({ prepared, recorded }, session) {
      const { text, container } = prepared as Prepared
      const answer = await session.outbound.get(
        `${url}/posts/${container ?? session.remoteAccount}`,
        authorized(session),
      )
      if (!answer.ok) throw failureOf(answer)
      for (const post of z.array(z.object({ id: z.string(), text: z.string() })).parse(answer.json()))
        if (post.text === text && !(await recorded([post.id])).has(post.id))
          return { remoteId: post.id, url: `${url}/posts/${post.id}` }
      return null
    },
    ...(refresh ? { refresh } : {}),
  }
}

// What is typed is the account's id, and the token that it gives.
async function connect({ account = '', token = 'good' }: Record<string, string>): Promise<ConnectedAccount> {
  return {
    ...{ remoteAccount: account, name: 'again', handle: null, url: null, pictureUrl: null },
    limits: { textLength: 500, textUnit: 'characters', mediaCount: 4, mediaTypes: [] },
    credential: { token },
  }
}

type Prepared = { text: string; container?: string }
const Container = z.object({ container: z.string() })

function authorized({ credential, signal }: Session) {
  return { headers: { authorization: String(credential.token) }, signal }
}

function refreshAt(url: string): NonNullable<Network['refresh']> {
  return async (credential, { outbound, signal }) => {
    const headers = { authorization: String(credential.token) }
    const answer = await outbound.post(`${url}/refresh`, { json: {}, headers, signal })
    if (!answer.ok) throw failureOf(answer)
    return z.object({ token: z.string() }).parse(answer.json())
  }
}

function failureOf(answer: HttpAnswer): PublishError {
  const { status, headers } = answer
  const more = { status, reply: answer.text() }
  if (status === 401) return new PublishError('reconnect', 'The fake refuses the token.', more)
  if (status === 429)
    return new PublishError('later', 'The fake asks to wait.', { ...more, retryAt: retryAtOf(headers) })
  if (status >= 400 && status < 500) return new PublishError('refused', `The fake says: ${more.reply}`, more)
  return new PublishError('unknown', `The fake answered ${status}.`, more)
}

const publishAndAnswer: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })

function reply(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body))
}

function drip(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => res.write(' '), 50)
  res.on('close', () => clearInterval(timer))
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += chunk
  return text
}
