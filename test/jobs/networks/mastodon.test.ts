import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mastodon } from '../../../jobs/networks/mastodon.ts'
import type { Session } from '../../../jobs/networks/network.ts'
import { anImage, someVideo } from './content.ts'
import { type HttpStand, httpContract, outboundToLoopback, ready, verdictOf } from './contract.ts'
import { type FakeMastodon, fakeMastodon } from './mastodon.fake.ts'

describe('the contract', () => httpContract(mastodon, stand))

async function stand(options: Parameters<typeof fakeMastodon>[0] = {}): Promise<HttpStand & { server: FakeMastodon }> {
  const server = await fakeMastodon(options)
  return {
    network: mastodon,
    server,
    session: sessionOn(server),
    newKey: randomUUID,
    shown: async () => server.statuses,
    close: server.close,
    sendRoute: 'POST /api/v1/statuses',
    uploadRoute: 'POST /api/v2/media',
    secrets: [server.token],
    deadToken: [
      { status: 401, body: { error: 'The access token was revoked' } },
      { status: 403, body: { error: 'This action is outside the authorized scopes' } },
    ],
    refusal: { status: 422, body: { error: 'Validation failed: <b>This text is not wanted.</b>' } },
  }
}

function sessionOn({ url, token, accountId }: FakeMastodon): Session {
  return {
    organisationId: randomUUID(),
    channelId: randomUUID(),
    remoteAccount: `host/${accountId}`,
    credential: { instance: url, token, accountId },
    outbound: outboundToLoopback(),
    signal: new AbortController().signal,
  }
}

describe('sending', () => {
  test('the idempotency key goes along, and the text is public', async () => {
    const it = await stand()
    const delivery = await ready(it)
    await it.network.send(delivery, it.session)
    const sent = it.server.received.at(-1)
    expect(sent?.headers['idempotency-key']).toBe(delivery.publishKey)
    expect(sent?.json()).toEqual(delivery.prepared)
    expect(sent?.json()).toMatchObject({ visibility: 'public', media_ids: [] })
    await it.close()
  })

  test('an address of the status that is not on the web counts as absent', async () => {
    const it = await stand()
    const uri = 'https://x.test/statuses/7'
    for (const [body, url] of [
      [{ id: '7', url: 'javascript:alert(1)', uri }, uri],
      [{ id: '7', url: 'javascript:alert(1)', uri: 'data:text/html,x' }, null],
      [{ id: '7', url: 7, uri: null }, null],
    ] as const) {
      it.server.next('POST /api/v1/statuses', { status: 200, body })
      expect(await it.network.send(await ready(it), it.session)).toMatchObject({ remoteId: '7', url })
    }
    await it.close()
  })

  test('images go up in order with their alternative texts, and are waited for', async () => {
    const it = await stand({ pollsOfMedia: 2 })
    const images = [await anImage({ alt: 'first' }), await anImage({ alt: 'second' })]
    const { prepared } = await ready(it, images)
    expect(prepared).toMatchObject({ media_ids: ['m1', 'm2'] })
    expect(it.server.descriptions).toEqual(['first', 'second'])
    await it.close()
  })

  test('a video goes up whole, as what it is, with its alternative text', async () => {
    const it = await stand()
    const video = await someVideo()
    expect((await ready(it, [video])).prepared).toMatchObject({ media_ids: ['m1'] })
    const [upload] = it.server.received.filter(({ route }) => route === 'POST /api/v2/media')
    expect(`${upload?.body}`).toContain('filename="media.mp4"\r\nContent-Type: video/mp4')
    expect(Buffer.from(upload!.body).includes(Buffer.from(await video.read()))).toBe(true)
    expect(it.server.descriptions).toEqual(['A field'])
    await it.close()
  })

  test('a server without the second version of media is sent to the first', async () => {
    const it = await stand({ v2: false })
    expect((await ready(it, [await anImage()])).prepared).toMatchObject({ media_ids: ['m1'] })
    await it.close()
  })

  test('preparing ends when its time is over', async () => {
    const it = await stand({ pollsOfMedia: 1000 })
    const session = { ...it.session, signal: AbortSignal.timeout(300) }
    await expect(ready({ ...it, session }, [await anImage()])).rejects.toThrow()
    await it.close()
  })
})

describe('finding what may be out there', () => {
  let it: Awaited<ReturnType<typeof stand>>
  const nobodys = async () => false
  beforeAll(async () => {
    it = await stand()
  })
  afterAll(() => it.close())

  const find = async (
    text: string,
    more: { media?: number; since?: Date; isTaken?: (id: string) => Promise<boolean> } = {},
  ) =>
    mastodon.find?.(
      {
        publishKey: randomUUID(),
        prepared: { status: text, visibility: 'public', media_ids: Array(more.media ?? 0).fill('m') },
        since: more.since ?? new Date(),
        isTaken: more.isTaken ?? nobodys,
      },
      it.session,
    )

  test('a post whose answer was lost is found, by each way in which servers write it', async () => {
    for (const text of [
      'Plain',
      'Two\n\nparagraphs and\na line',
      'Quotes "double" & \'single\' <b>no tag</b> 1 < 2',
      'See https://example.com/a/very/long/path/that/is/cut?x=1&y=%C3%A9#frag and #tag, @bob@example.org too',
      '🎉',
      '...',
    ]) {
      const delivery = { publishKey: randomUUID(), prepared: { status: text, visibility: 'public', media_ids: [] } }
      it.server.next('POST /api/v1/statuses', 'reset after')
      expect(await verdictOf(mastodon.send(delivery, it.session))).toMatchObject({ verdict: 'unknown' })
      expect(await find(text), text).toMatchObject({ remoteId: it.server.statuses.at(-1)?.id })
    }
  })

  test('a source that the server gives is what counts', async () => {
    const shown = it.server.show({ content: '<b>bold</b> &#128578;', text: '**bold** :-)' })
    expect(await find('**bold** :-)')).toMatchObject({ remoteId: shown.id, url: shown.url })
    expect(await find('bold 🙂')).toBeNull()
  })

  test('an address that is not on the web is not believed', async () => {
    it.server.show({ content: 'Elsewhere', url: 'javascript:alert(1)' })
    expect(await find('Elsewhere')).toMatchObject({ url: null })
  })

  test('what is not ours is not found: other text, other count of media, a boost, older, taken', async () => {
    it.server.show({ content: '<p>Mine</p>', media_attachments: ['m'] })
    it.server.show({ content: '<p>Mine</p>', reblog: { id: '1' } })
    it.server.show({ content: '<p>Mine too</p>' })
    const taken = it.server.show({ content: '<p>Mine</p>' })
    expect(await find('Mine', { isTaken: async (id) => id === taken.id })).toBeNull()
    expect(await find('Mine', { since: new Date(Date.now() + 3_600_000) })).toBeNull()
    expect(await find('Mine', { media: 1 })).not.toBeNull()
  })

  test('of two that are alike each is found once', async () => {
    const [first, second] = [it.server.show({ content: 'Twin' }), it.server.show({ content: 'Twin' })]
    expect(await find('Twin')).toMatchObject({ remoteId: first.id })
    expect(await find('Twin', { isTaken: async (id) => id === first.id })).toMatchObject({ remoteId: second.id })
  })

  test('it is found behind any number of newer posts', async () => {
    const since = new Date()
    const ours = it.server.show({ content: 'Buried' })
    for (let newer = 0; newer < 130; newer++) it.server.show({ content: `Newer ${newer}` })
    expect(await find('Buried', { since })).toMatchObject({ remoteId: ours.id })
    expect(await find('Never sent', { since })).toBeNull()
  })

  test('a reading that fails is no proof of absence', async () => {
    const route = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    for (const [fate, verdict] of [
      [{ status: 200, body: '<html>' }, 'unknown'],
      [{ status: 503 }, 'unknown'],
      ['reset before', 'unknown'],
      [{ status: 401 }, 'reconnect'],
      [{ status: 429, headers: { 'retry-after': '3' } }, 'later'],
    ] as const) {
      it.server.next(route, fate)
      expect(await verdictOf(find('x'))).toMatchObject({ verdict })
    }
  })

  test('a server that shows the newest only, whatever page is asked for, is believed unless its list may be cut off', async () => {
    const route = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    const list = (length: number) =>
      Array.from({ length }, (_, n) => ({ ...it.server.show({}), id: `s${n}`, content: 'x' }))
    const short = { body: list(60) }
    it.server.next(route, short, short)
    expect(await find('Never sent', { since: new Date(0) })).toBeNull()
    const long = { body: list(256) }
    it.server.next(route, long, long)
    expect(await verdictOf(find('Never sent', { since: new Date(0) }))).toMatchObject({ verdict: 'unknown' })
  })
})
