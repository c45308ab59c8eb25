import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { type Network, PublishError, type RepeatedSend } from '../jobs/networks/network.ts'

/** What the fake saw: one a request that it was asked to publish, whether it then showed it or not. */
export type Received = { network: string; account: string; key: string; text: string; at: number; endedAt: number }

/** What the fake does with one request: the default shows the post and answers 200 with its id. */
export type Behaviour = (request: Received, answer: Answer) => Promise<void> | void
export type Answer = {
  /** Make the post visible and return its id. */
  show: () => string
  reply: (status: number, body: unknown, headers?: Record<string, string>) => void
  reset: () => void
}

const Publish = z.object({ network: z.string(), account: z.string(), key: z.string(), text: z.string() })

/** A social network on loopback that records every publish, and misbehaves by script. */
export async function startFakeServer() {
  const received: Received[] = []
  const posts: { id: string; account: string; key: string; text: string }[] = []
  const fake = {
    received,
    posts,
    behave: publishAndAnswer as Behaviour,
    keyed: false,
    isTokenGood: (_token: string) => true,
  }
  const server = createServer(async (req, res) => {
    const body = await bodyOf(req)
    if (!fake.isTokenGood(req.headers.authorization ?? '')) return void res.writeHead(401).end()
    if (req.method === 'GET')
      return reply(
        res,
        200,
        posts.filter(({ account }) => req.url?.endsWith(`/${account}`)),
      )
    const request = { ...Publish.parse(JSON.parse(body)), at: Date.now(), endedAt: 0 }
    received.push(request)
    const show = () => {
      const same = fake.keyed ? posts.find(({ key }) => key === request.key) : undefined
      const post = same ?? { ...request, id: randomUUID() }
      if (!same) posts.push(post)
      return post.id
    }
    await fake.behave(request, {
      show,
      reply: (...answer) => reply(res, ...answer),
      reset: () => void res.socket?.resetAndDestroy(),
    })
    request.endedAt = Date.now()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const end = () => new Promise<void>((done) => server.close(() => done()) && server.closeAllConnections())
  const reset = () => {
    Object.assign(fake, { behave: publishAndAnswer, keyed: false, isTokenGood: () => true })
    received.length = 0
    posts.length = 0
  }
  return Object.assign(fake, { url, end, reset })
}

/** How a fake network declares itself to the worker; given to test/worker.ts as JSON. */
export type FakeNetwork = {
  name: string
  url: string
  repeatedSend: RepeatedSend
  settlesWithinMs?: number
  refreshTo?: string
}

/** The network that talks to a fake server. */
export function fakeNetwork({ name, url, repeatedSend, settlesWithinMs = 100, refreshTo }: FakeNetwork): Network {
  return {
    name,
    repeatedSend,
    settlesWithinMs,
    verifiedAgainst: 'a fake of the tests',
    connecting: { by: 'form', connect: () => Promise.reject(new Error('not connected in tests')) },
    async prepare({ text, media }) {
      for (const file of media) await file.read()
      return { text }
    },
    async send({ publishKey, prepared }, { outbound, remoteAccount, credential, signal }) {
      const json = { network: name, account: remoteAccount, key: publishKey, ...(prepared as { text: string }) }
      const headers = { authorization: String(credential.token) }
      const answer = await outbound.post(`${url}/publish`, { json, headers, signal, timeoutMs: 5000 })
      const more = { status: answer.status, reply: answer.text() }
      if (answer.status === 401) throw new PublishError('reconnect', 'The fake refuses the token.', more)
      if (answer.status === 429)
        throw new PublishError('later', 'The fake asks to wait.', {
          ...more,
          retryAt: new Date(Date.now() + Number(answer.headers['retry-after'] ?? 0) * 1000),
        })
      if (answer.status >= 400 && answer.status < 500)
        throw new PublishError('refused', `The fake says: ${answer.text()}`, more)
      if (!answer.ok) throw new PublishError('unknown', `The fake answered ${answer.status}.`, more)
      const { id } = z.object({ id: z.string() }).parse(answer.json())
      return { remoteId: id, url: `${url}/posts/${id}`, ...more }
    },
    async find({ prepared, isTaken }, { outbound, remoteAccount, credential, signal }) {
      const answer = await outbound.get(`${url}/posts/${remoteAccount}`, {
        headers: { authorization: String(credential.token) },
        signal,
      })
      if (!answer.ok) throw new PublishError('unknown', `The fake answered ${answer.status}.`)
      for (const post of z.array(z.object({ id: z.string(), text: z.string() })).parse(answer.json()))
        if (post.text === (prepared as { text: string }).text && !(await isTaken(post.id)))
          return { remoteId: post.id, url: `${url}/posts/${post.id}` }
      return null
    },
    ...(refreshTo === undefined ? {} : { refresh: async () => ({ token: refreshTo }) }),
  }
}

const publishAndAnswer: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })

function reply(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += chunk
  return text
}
