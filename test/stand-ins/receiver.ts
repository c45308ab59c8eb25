import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** What a webhook was told, as it arrived. */
export type Told = {
  headers: Record<string, string>
  body: string
  json: { type: string; timestamp: string; data: Record<string, unknown> & { id: string; status: string } }
  path: string
}

/** A third party's receiver on loopback: it keeps what it is told and answers as its script says. */
export async function startReceiver() {
  const receiver = {
    told: [] as Told[],
    answer: noContent as (told: Told, res: ServerResponse) => unknown,
  }
  const server = createServer(async (req, res) => {
    const body = await text(req).catch(() => '')
    if (!body) return
    const told = { headers: req.headers as Record<string, string>, body, json: JSON.parse(body), path: req.url ?? '' }
    receiver.told.push(told)
    await receiver.answer(told, res)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    reset() {
      receiver.told.length = 0
      receiver.answer = noContent
    },
    end: () => new Promise<void>((done) => server.close(() => done()) && server.closeAllConnections()),
  })
}

/** What Standard Webhooks' own library makes of it. Throws unless it was signed with `secret`. */
export function verified(secret: string, { body, headers }: Told): unknown {
  return new Webhook(secret).verify(body, headers)
}

function noContent(_told: Told, res: ServerResponse): void {
  res.writeHead(204).end()
}
