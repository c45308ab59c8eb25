import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Network, PublishError, type Session, type Verdict } from '../../../jobs/networks/network.ts'
import { createOutbound, OutboundError } from '../../../jobs/outbound/outbound.ts'
import { anImage, aText } from './content.ts'
import type { Fate, Scripted } from './scripted-server.ts'

/** A network to post to. */
export type Stand = {
  network: Network
  session: Session
  newKey: () => string
  shown: () => Promise<unknown[]> // every post that a visitor would see
  close: () => Promise<void>
}

/** The same, behind a server that a test can make misbehave. */
export type HttpStand = Stand & {
  server: Scripted
  sendRoute: string
  uploadRoute: string
  secrets: string[]
  deadToken: Fate[] // each way in which the server says that the credential is no longer valid
  refusal: Fate // of a text, with the reason 'This text is not wanted.'
  refreshing?: { route: string; refusals: Fate[] }
}

/** The rules of docs/networks.md for every network. */
export function contract(stand: () => Promise<Stand>): void {
  let it: Stand
  beforeAll(async () => {
    it = await stand()
  })
  afterAll(() => it.close())

  test('a prepared post survives JSON, is not public yet, and goes out with its images', async () => {
    const before = (await it.shown()).length
    const { publishKey, prepared } = await ready(it, [await anImage()])
    expect(await it.shown()).toHaveLength(before)

    const publication = await it.network.send({ publishKey, prepared }, it.session)

    expect(publication.remoteId).toBeTruthy()
    expect(publication.url).toMatch(/^https?:\/\//)
    expect(await it.shown()).toHaveLength(before + 1)
  })

  test('the same key twice makes one post, or the network can be read', async () => {
    const before = (await it.shown()).length
    const delivery = await ready(it)
    const first = await it.network.send(delivery, it.session)
    if (it.network.repeatedSend === 'keyed') {
      const second = await it.network.send(delivery, it.session)
      expect(second.remoteId).toBe(first.remoteId)
      expect(await it.shown()).toHaveLength(before + 1)
    } else if (it.network.repeatedSend !== 'blind') {
      expect(it.network.find).toBeTypeOf('function')
    }
  })
}

/** The rules of docs/networks.md for every network that is called over HTTP. */
export function httpContract(network: Network, stand: () => Promise<HttpStand>): void {
  contract(stand)
  let it: HttpStand
  beforeAll(async () => {
    it = await stand()
  })
  afterAll(() => it.close())

  /** The verdict on a send that gets `fate` as its answer. */
  async function met(fate: Fate, session = it.session): Promise<PublishError> {
    const delivery = await ready(it)
    it.server.next(it.sendRoute, fate)
    return verdictOf(it.network.send(delivery, session))
  }

  describe('surely not sent', () => {
    test('a dead token asks for a reconnect', async () => {
      for (const fate of it.deadToken) expect(await met(fate)).toMatchObject({ verdict: 'reconnect' })
    })

    test('a dead token that is found while preparing asks for a reconnect', async () => {
      it.server.next(it.uploadRoute, ...it.deadToken.slice(0, 1))
      expect(await verdictOf(ready(it, [await anImage()]))).toMatchObject({ verdict: 'reconnect' })
    })

    test('a refused text is refused with the reason from the network', async () => {
      const error = await met(it.refusal)
      expect(error).toMatchObject({ verdict: 'refused', code: 'network_refused' })
      expect(error.message).toContain('This text is not wanted.')
    })

    test('a post that is too long, has too many files or a file of a wrong kind is refused', async () => {
      for (const status of [403, 404, 413, 415, 422]) {
        expect(await met({ status, body: '<h1>No</h1>' })).toMatchObject({ verdict: 'refused', status })
      }
      it.server.next(it.uploadRoute, { status: 422, body: { error: 'InvalidMedia' } })
      expect(await verdictOf(ready(it, [await anImage()]))).toMatchObject({ verdict: 'refused' })
    })

    test('a server that is not there gives later', async () => {
      const delivery = await ready(it)
      const other = await stand()
      await other.close()
      expect(await verdictOf(it.network.send(delivery, other.session))).toMatchObject({ verdict: 'later' })
    })

    test.each<[string, () => Record<string, string>, number | null]>([
      ['seconds', () => ({ 'retry-after': '90' }), 90_000],
      ['a date', () => ({ 'retry-after': new Date(Date.now() + 90_000).toUTCString() }), 90_000],
      [
        'the reset of its own header',
        () => ({ 'x-ratelimit-reset': new Date(Date.now() + 90_000).toISOString() }),
        90_000,
      ],
      ['nothing', () => ({}), null],
      ['something absurd', () => ({ 'retry-after': 'soon' }), null],
      ['a time in the past', () => ({ 'retry-after': new Date(Date.now() - 90_000).toUTCString() }), null],
    ])('429 with %s gives later, at that time', async (_, headers, waitMs) => {
      const error = await met({ status: 429, headers: headers(), body: {} })
      expect(error).toMatchObject({ verdict: 'later', code: 'rate_limited', status: 429 })
      if (waitMs === null) expect(error.retryAt).toBeNull()
      else expect(Math.abs((error.retryAt?.getTime() ?? 0) - Date.now() - waitMs)).toBeLessThan(5000)
    })
  })

  describe('unknown', () => {
    test.each([500, 501, 502, 503, 504, 520, 408, 425, 301])('status %i is unknown', async (status) => {
      expect(await met({ status, body: '<h1>Oops</h1>' })).toMatchObject({ verdict: 'unknown', status })
    })

    test.each(['reset before', 'reset after'] as const)(
      'a connection with a %s the answer is unknown',
      async (fate) => {
        expect(await met(fate)).toMatchObject({ verdict: 'unknown' })
      },
    )

    test('an answer that does not come in time is unknown', async () => {
      expect(await met('silence after', { ...it.session, signal: AbortSignal.timeout(2000) })).toMatchObject({
        verdict: 'unknown',
      })
    })

    test.each(['', 'null', '{}', '[]', '{"id":7,"uri":7}', '<html>', '{"id":'])(
      '2xx with %j is unknown',
      async (body) => {
        expect(await met({ status: 200, body })).toMatchObject({ verdict: 'unknown', status: 200 })
      },
    )
  })

  test('the stored part of an answer has no credential and no NUL, and is short', async () => {
    const echo = `${it.secrets.join(' ')} \0 ${'x'.repeat(10_000)}`
    for (const status of [200, 400, 401, 429, 500]) {
      const { reply, message } = await met({ status, body: { error: echo, error_description: echo, message: echo } })
      for (const secret of it.secrets) expect(`${reply} ${message}`).not.toContain(secret)
      expect(reply).not.toContain('\0')
      expect(reply?.length).toBeLessThanOrEqual(2000)
    }
  })

  const { refresh } = network
  if (!refresh) return

  test('a refresh returns a working credential', async () => {
    const credential = await refresh(it.session.credential, it.session)
    expect(credential).not.toEqual(it.session.credential)
    it.session.credential = credential
    expect(await network.send(await ready(it), it.session)).toMatchObject({ status: 200 })
  })

  test('a refused refresh asks for a reconnect, one that fails temporarily gives later', async () => {
    const { route, refusals } = it.refreshing ?? expect.fail('This network refreshes.')
    for (const fate of refusals) {
      it.server.next(route, fate)
      expect(await verdictOf(refresh(it.session.credential, it.session))).toMatchObject({ verdict: 'reconnect' })
    }
    for (const status of [429, 500, 503]) {
      it.server.next(route, { status, body: 'x' })
      expect(await verdictOf(refresh(it.session.credential, it.session))).toMatchObject({ verdict: 'later' })
    }
  })
}

/** Prepares a delivery as the worker does: through JSON. */
export async function ready({ network, session, newKey }: Stand, media: Awaited<ReturnType<typeof anImage>>[] = []) {
  const publishKey = newKey()
  const prepared = await network.prepare({ text: aText(), media }, publishKey, session)
  return { publishKey, prepared: JSON.parse(JSON.stringify(prepared)) as unknown }
}

/** The error of a network as the worker reads it: an error from outbound.ts is unknown once a byte may have left. */
export async function verdictOf(work: Promise<unknown>): Promise<PublishError> {
  const error = await work.then(
    () => new Error('It went well.'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof PublishError) return error
  const verdict: Verdict = error instanceof OutboundError && !error.sent ? 'later' : 'unknown'
  if (error instanceof OutboundError) return new PublishError(verdict, error.message)
  throw error
}

/** An outbound that may call loopback, as an operator can allow. */
export function outboundToLoopback() {
  return createOutbound({ allow: ['127.0.0.0/8'] })
}
