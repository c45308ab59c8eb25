import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mastodon } from '../../../../jobs/networks/mastodon/mastodon.ts'
import { Unclear } from '../../../../jobs/networks/network.ts'
import { anImage, someVideo } from '../content.ts'
import { httpContract, ready, verdictOf } from '../http-contract.ts'
import { find as findOn, lost, stand } from './mastodon.stand.ts'

describe('the contract', () => httpContract(mastodon, stand))

describe('sending', () => {
  test('the idempotency key is sent, and the text is public', async () => {
    const it = await stand()
    const delivery = await ready(it)
    await it.network.send(delivery, it.session)
    const sent = it.server.received.at(-1)
    expect(sent?.headers['idempotency-key']).toBe(delivery.publishKey)
    expect(sent?.json()).toEqual(delivery.prepared)
    expect(sent?.json()).toMatchObject({ visibility: 'public', media_ids: [] })
    await it.close()
  })

  test('files without text are sent without `status`, also when an empty one was stored', async () => {
    const it = await stand({ like: 'hollo' })
    for (const text of ['', ' \n']) {
      const prepared = await mastodon.prepare({ text, media: [await anImage()] }, it.newKey(), it.session)
      await it.network.send({ publishKey: it.newKey(), prepared: JSON.parse(JSON.stringify(prepared)) }, it.session)
      expect(Object.keys(it.server.received.at(-1)?.json() as object)).toEqual(['visibility', 'media_ids'])
    }
    const frozen = { status: '', visibility: 'public', media_ids: ['m1'] }
    expect(await it.network.send({ publishKey: it.newKey(), prepared: frozen }, it.session)).toMatchObject({
      status: 200,
    })
    await it.close()
  })

  test('a link of the status that is not http(s) counts as absent', async () => {
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

  test('messages to a member name the server', async () => {
    const it = await stand()
    const { host } = new URL(it.server.url)
    const of = { publishKey: it.newKey(), prepared: (await ready(it)).prepared }
    const listed = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    const named = [...it.deadToken, it.refusal, { status: 429 }, { status: 500 }, { status: 200, body: '[]' }]
    for (const fate of named) {
      it.server.next(it.sendRoute, fate)
      const sent = await verdictOf(mastodon.send(of, it.session))
      expect(sent.message).toMatch(new RegExp(`^${host} `))
    }
    it.server.next(listed, { status: 200, body: '{}' })
    expect((await verdictOf(findOn(it, lost('x')))).message).toMatch(new RegExp(`^${host} `))
    it.server.show({ content: 'A word that is changed' })
    const unclear = await findOn(it, lost('A word that was changed'))
    expect(unclear).toMatchObject({ message: expect.stringContaining(host) })
    await it.close()
  })

  test('a reason that is not a sentence becomes one', async () => {
    const it = await stand({ like: 'hollo' })
    const of = { publishKey: it.newKey(), prepared: (await ready(it)).prepared }
    for (const [error, reason] of [
      [{ status: ['is too long', 'is rude'] }, 'status: is too long, is rude'],
      [['is too long', { message: 'is rude' }], 'is too long; is rude'],
      [{ name: 'ZodError', issues: [{ path: ['status'], message: 'The text is empty.' }] }, 'The text is empty.'],
      [1007, '1007'],
    ] as const) {
      it.server.next(it.sendRoute, { status: 400, body: { success: false, error } })
      const refused = await verdictOf(mastodon.send(of, it.session))
      expect(refused).toMatchObject({ verdict: 'refused', message: expect.stringMatching(`says: ${reason}$`) })
    }
    await it.close()
  })

  test('images are uploaded in order with their alternative texts, and we wait until they are processed', async () => {
    const it = await stand({ pollsOfMedia: 2 })
    const images = [await anImage({ alt: 'first' }), await anImage({ alt: 'second' })]
    const { prepared } = await ready(it, images)
    expect(prepared).toMatchObject({ media_ids: ['m1', 'm2'] })
    expect(it.server.descriptions).toEqual(['first', 'second'])
    await it.close()
  })

  test('a video is uploaded whole, with its type and its alternative text', async () => {
    const it = await stand()
    const video = await someVideo()
    expect((await ready(it, [video])).prepared).toMatchObject({ media_ids: ['m1'] })
    const [upload] = it.server.received.filter(({ route }) => route === 'POST /api/v2/media')
    expect(`${upload?.body}`).toContain('filename="media.mp4"\r\nContent-Type: video/mp4')
    expect(Buffer.from(upload!.body).includes(Buffer.from(await video.read()))).toBe(true)
    expect(it.server.descriptions).toEqual(['A field'])
    await it.close()
  })

  test('a server without version 2 of the media API gets version 1', async () => {
    const it = await stand({ v2: false })
    expect((await ready(it, [await anImage()])).prepared).toMatchObject({ media_ids: ['m1'] })
    await it.close()
  })

  test('preparing ends at its time limit', async () => {
    const it = await stand({ pollsOfMedia: 1000 })
    const session = { ...it.session, signal: AbortSignal.timeout(300) }
    await expect(ready({ ...it, session }, [await anImage()])).rejects.toThrow()
    await it.close()
  })
})

describe('finding a post with an unknown outcome', () => {
  let it: Awaited<ReturnType<typeof stand>>
  beforeAll(async () => {
    it = await stand()
    it.server.show({ content: 'The first', created_at: anHourAgo.toISOString() })
  })
  afterAll(() => it.close())

  const find = (text: string, more: Parameters<typeof lost>[1] = {}) =>
    findOn(it, { ...lost(text, more), recorded: more.recorded ?? ours })

  // One of our posts was recorded an hour ago, so it dates the server's clock.
  const anHourAgo = new Date(Date.now() - 3_600_000)
  const first = () => it.server.statuses[0]!.id
  const ours = async () => recorded([first()])
  const recorded = (ids: string[]) =>
    new Map(
      it.server.statuses.flatMap(({ id, created_at }) => {
        const at = new Date(created_at)
        return ids.includes(id) ? [[id, { sentAt: at, recordedAt: at }]] : []
      }),
    )

  test('a post whose answer was lost is found, however servers write its HTML', async () => {
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

  test('when the server gives the source, only the source counts', async () => {
    const shown = it.server.show({ content: '<b>bold</b> &#128578;', text: '**bold** :-)' })
    expect(await find('**bold** :-)')).toMatchObject({ remoteId: shown.id, url: shown.url })
    expect(await find('bold 🙂')).toBeInstanceOf(Unclear)
    expect(await find('Another')).toBeNull()
  })

  test('a link that is not http(s) is ignored', async () => {
    it.server.show({ content: 'Elsewhere', url: 'javascript:alert(1)' })
    expect(await find('Elsewhere')).toMatchObject({ url: null })
  })

  test('a status that is not our post is not found: other text, a boost, older, recorded', async () => {
    it.server.show({ content: '<p>Mine</p>', reblog: { id: '1' } })
    it.server.show({ content: '<p>Another</p>' })
    const taken = it.server.show({ content: '<p>Mine</p>' })
    expect(await find('Mine', { recorded: async () => recorded([first(), taken.id]) })).toBeNull()
    expect(await find('Mine', { since: new Date(Date.now() + 3_600_000) })).toBeNull()
    expect(await find('Mine')).toMatchObject({ remoteId: taken.id })
  })

  test('a status similar to our post is neither found nor absent: nearly the same text, another number of files', async () => {
    const like = it.server.show({ content: '<p>A word that is changed</p>' })
    expect(await find('A word that was changed')).toEqual(expect.objectContaining({ url: like.url }))
    expect(await find('A word that was changed')).toBeInstanceOf(Unclear)
    expect(await find('A word that is changed', { media: 1 })).toBeInstanceOf(Unclear)
    expect(await find('A word that was changed', { media: 1 })).toBeInstanceOf(Unclear)
  })

  test('files without text are found by their number; a status with links to files as its text is unclear', async () => {
    const since = new Date()
    const files = (length: number) => Array(length).fill({ id: 'm' })
    it.server.show({ content: '<p>A picture of the town</p>', media_attachments: files(1) })
    it.server.show({ content: '', media_attachments: files(2) })
    const link = '<br><a href="https://x.test/media/a.jpg" class="attachment">a.jpg</a>'
    it.server.show({ content: link, media_attachments: [] })
    expect(await find('', { since, media: 3 })).toBeInstanceOf(Unclear) // the status with two files is similar
    it.server.statuses.splice(-2, 1)
    expect(await find('', { since, media: 1 })).toBeNull()
    it.server.show({ content: link, media_attachments: files(1) })
    expect(await find('', { since, media: 1 })).toBeInstanceOf(Unclear)
    const shown = it.server.show({ content: '<p></p>', media_attachments: files(1) })
    for (const prepared of [lost('', { media: 1 }).prepared, { visibility: 'public', media_ids: ['m'] }])
      expect(await find('', { since, prepared })).toMatchObject({ remoteId: shown.id })
  })

  test('of two equal statuses, each is found once', async () => {
    const since = new Date()
    const [one, other] = [it.server.show({ content: 'Twin' }), it.server.show({ content: 'Twin' })]
    expect(await find('Twin', { since })).toMatchObject({ remoteId: one.id })
    const known = async () => recorded([first(), one.id])
    expect(await find('Twin', { since, recorded: known })).toMatchObject({ remoteId: other.id })
  })

  test('a status that another delivery may have sent is found for neither until that is known', async () => {
    const shown = it.server.show({ content: 'Sent by one of two' })
    const twin = (isUnderWay: boolean, text = 'Sent by one of two') => ({
      others: async () => [{ prepared: lost(text).prepared, isUnderWay }],
    })
    expect(await find('Sent by one of two', twin(false))).toMatchObject({ url: shown.url, message: expect.any(String) })
    expect(await verdictOf(find('Sent by one of two', twin(true)))).toMatchObject({ verdict: 'unknown' })
    expect(await find('Sent by one of two', twin(true, 'Another'))).toMatchObject({ remoteId: shown.id })
  })

  test('a status that may belong to one of too many deliveries is unclear', async () => {
    const shown = it.server.show({ content: 'Sent by one of many' })
    expect(await find('Sent by one of many', { others: async () => null })).toMatchObject({ url: shown.url })
    expect(await find('Sent by one of many', { others: async () => null })).toBeInstanceOf(Unclear)
    expect(await find('12345 67890', { others: async () => null })).toBeNull()
  })

  test('a reading ends at its time limit, however much there is to compare', async () => {
    it.server.show({ content: 'Out of time' })
    const time = new AbortController()
    const others = async () => {
      time.abort()
      return []
    }
    const session = { ...it.session, signal: time.signal }
    const sought = lost('Out of time', { others, recorded: ours })
    await expect(findOn({ ...it, session }, sought)).rejects.toThrow('aborted')
  })

  test('a post is found behind any number of newer posts', async () => {
    const since = new Date()
    const buried = it.server.show({ content: 'Buried' })
    for (let newer = 0; newer < 130; newer++) it.server.show({ content: `Newer ${newer}` })
    expect(await find('Buried', { since })).toMatchObject({ remoteId: buried.id })
    expect(await find('Never sent', { since })).toBeNull()
  })

  test('a failed reading does not prove that the post is absent', async () => {
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

  test('a server that shows only the newest posts, for any page, is believed unless its list may be cut off', async () => {
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
