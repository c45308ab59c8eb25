import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bluesky } from '../../../jobs/networks/bluesky/bluesky.ts'
import { mastodon } from '../../../jobs/networks/mastodon/mastodon.ts'
import { originOf } from '../../../jobs/networks/origin.ts'
import { plainReason, retryAtOf, WebAddress } from '../../../jobs/networks/verdict.ts'
import { type FakePds, fakePds } from './bluesky/bluesky.fake.ts'
import { anImage } from './content.ts'
import { AnswerBytes, costsLittle, dearest, hostileBodies, ListBytes, turnsOften } from './hostile.ts'
import { outboundToLoopback, verdictOf } from './http-contract.ts'
import { find, lost, type MastodonStand, stand } from './mastodon/mastodon.stand.ts'
import { registrationsInMemory } from './mastodon/registrations.ts'
import type { Fate, Scripted } from './scripted-server.ts'

afterAll(() => void process.stdout.write(`the dearest hostile answer: ${dearest.ms} ms (${dearest.name})\n`))

const outbound = outboundToLoopback()
const TextLength = 2400
const markup = {
  words: 'a word, ',
  brackets: '[',
  pictures: '![[',
  'bold and not': '**a *  ',
  'tags that never end': '<a ',
}
const everywhere = (hostile: string) => ({
  ...{ id: hostile, url: hostile, uri: hostile, text: hostile, error: hostile, error_description: hostile },
  ...{ message: hostile, client_id: hostile, client_secret: hostile, access_token: hostile, username: hostile },
  ...{ did: hostile, handle: hostile, accessJwt: hostile, refreshJwt: hostile, display_name: hostile },
})

/** Each hostile answer to `route`, with each of `statuses`. */
async function each(
  { next }: Pick<Scripted, 'next'>,
  route: string,
  work: () => Promise<unknown>,
  { statuses = [200, 422], bodies = hostileBodies(AnswerBytes, everywhere) } = {},
): Promise<void> {
  for (const status of statuses)
    for (const [name, body] of Object.entries(bodies)) {
      const fate: Fate = { status, body, headers: { date: new Date().toUTCString() } }
      next(route, fate)
      await costsLittle(`${route} ${status}: ${name}`, work)
    }
}

describe('hostile answers of a Mastodon server are cheap to handle', () => {
  let it: MastodonStand
  beforeAll(async () => {
    it = await stand()
    await find(it, lost('What is needed is loaded'))
  })
  afterAll(() => it.close())

  test('to a post', () => each(it.server, 'POST /api/v1/statuses', () => mastodon.send(lost('x'), it.session)))

  test('to an upload', async () => {
    const media = [await anImage()]
    await each(it.server, 'POST /api/v2/media', () => mastodon.prepare({ text: 'x', media }, 'key', it.session))
  })

  test('to a reading for a text of ours with much Markdown', async () => {
    const table = `${'a|'.repeat(1200)}\n${'-|'.repeat(1200)}\n${'a\n'.repeat(2500)}`
    it.server.show({ content: '<p>Something else</p>' })
    await costsLittle('a table of ours', () => find(it, lost(table)))
  })

  test('to a reading', async () => {
    const route = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    const sought = lost('An ordinary text that is looked for, with a link: https://example.com/a?b=c')
    const status = (content: string) => ({ id: '1', created_at: new Date(), content, media_attachments: [] })
    const tiny = Array.from({ length: 100_000 }, (_, id) => `{"id":"${id}"}`).join(',')
    const some = Array.from({ length: 20_000 }, (_, id) => JSON.stringify({ ...status('x'), id: String(id) }))
    const others = { '100,000 tiny ones': `[${tiny}]`, '20,000 small ones': `[${some.join(',')}]` }
    const one = hostileBodies(ListBytes, (content) => [status(content)])
    const instants = hostileBodies(ListBytes, (created_at) => [{ ...status(''), created_at }])
    const sources = hostileBodies(ListBytes, (text) => [{ ...status(''), text }])
    for (const bodies of [others, one, instants, sources])
      await each(it.server, route, () => find(it, sought), { statuses: [200], bodies })
  })

  test('to a reading while similar texts are open', async () => {
    const route = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    for (const [name, piece] of Object.entries(markup)) {
      const text = piece.repeat(TextLength / piece.length)
      const others = async () =>
        Array.from({ length: 20 }, (_, n) => ({ prepared: lost(`${text} ${n}`).prepared, isUnderWay: false }))
      for (const content of [text, `${text} 19`, `${text} and more`]) {
        const status = { created_at: new Date(), content, media_attachments: [], reblog: null }
        const body = Array.from({ length: 400 }, (_, id) => ({ ...status, id: `${id}` }))
        it.server.next(route, { status: 200, body })
        const media = content === text ? 0 : 1
        await turnsOften(`${name}: ${content.slice(-9)}`, () => find(it, lost(text, { others, media })))
      }
    }
  })

  test('to a reading of statuses with 20,000 combining marks each', async () => {
    const route = `GET /api/v1/accounts/${it.server.accountId}/statuses`
    const text = `a${'\u0301\u0316'.repeat(10_000)}`
    const status = { created_at: new Date(), content: '', text, media_attachments: [], reblog: null }
    it.server.next(route, { status: 200, body: Array.from({ length: 50 }, (_, id) => ({ ...status, id: `${id}` })) })
    const before = process.cpuUsage()
    await find(it, lost('Another'))
    const { user, system } = process.cpuUsage(before)
    process.stdout.write(`marks: ${(user + system) / 1000} ms\n`)
    expect((user + system) / 1000).toBeLessThan(2000)
  })

  test('to a request for the source of a status', async () => {
    const { id } = it.server.show({ content: 'x' })
    const look = () => find(it, lost('Another'))
    await each(it.server, `GET /api/v1/statuses/${id}/source`, look, { statuses: [200] })
  })

  test('while it is connected', async () => {
    const { connecting } = mastodon
    if (connecting.by !== 'redirect') throw new Error('Mastodon is connected by a redirect.')
    const { begin, finish } = connecting
    const ask = (access = { outbound, registrations: registrationsInMemory() }) =>
      begin({ instance: it.server.url }, { redirectUri: 'http://localhost/back', state: 's' }, access)
    const { url, kept } = await ask()
    const server = new URL(url).searchParams.get('redirect_uri')!.split('/').at(-1)!
    const access = { outbound, registrations: registrationsInMemory() }
    const back = () => finish(kept, { server, code: it.server.code, error: null, iss: null }, access)
    for (const route of ['POST /api/v1/apps', 'GET /.well-known/oauth-authorization-server'])
      await each(it.server, route, () => ask(), { statuses: [200] })
    for (const route of ['POST /oauth/token', 'GET /api/v1/accounts/verify_credentials', 'GET /api/v2/instance'])
      await each(it.server, route, back, { statuses: [route === 'POST /oauth/token' ? 400 : 200] })
  })
})

describe('hostile answers of a PDS are cheap to handle', () => {
  let pds: FakePds
  const network = bluesky('https://plc.test')
  beforeAll(async () => {
    pds = await fakePds()
    await network.prepare({ text: 'What is needed is loaded', media: [] }, 'key', session())
  })
  afterAll(() => pds.close())
  const session = () => ({
    ...{ organisationId: '', channelId: '', remoteAccount: pds.did, outbound, signal: new AbortController().signal },
    credential: { pds: pds.url, did: pds.did, handle: 'ada', accessJwt: pds.accessJwt, refreshJwt: pds.refreshJwt },
  })
  const method = (name: string) => `POST /xrpc/com.atproto.${name}`

  test('to a post, an upload, a mention and a refresh', async () => {
    const media = [await anImage()]
    const record = await network.prepare({ text: 'x', media: [] }, 'key', session())
    const send = () => network.send({ publishKey: 'key', prepared: record }, session())
    await each(pds, method('repo.putRecord'), send)
    await each(pds, method('repo.uploadBlob'), () => network.prepare({ text: 'x', media }, 'key', session()))
    const mention = () => network.prepare({ text: 'Hi @bob.test', media: [] }, 'key', session())
    await each(pds, 'GET /xrpc/com.atproto.identity.resolveHandle', mention)
    const refresh = async () => network.refresh?.(session().credential, session())
    await each(pds, method('server.refreshSession'), refresh)
  })

  test('while it is connected', async () => {
    const { connecting } = network
    if (connecting.by !== 'form') throw new Error('Bluesky is connected by a form.')
    const typed = () => ({ handle: 'ada.test', appPassword: pds.password, pds: pds.url })
    const connect = () => connecting.connect(typed(), outbound)
    await each(pds, method('server.createSession'), connect)
    await each(pds, 'GET /xrpc/com.atproto.repo.getRecord', connect, { statuses: [200] })
    const atPlc = bluesky(pds.url).connecting
    if (atPlc.by !== 'form') throw new Error('Bluesky is connected by a form.')
    const byDid = () => atPlc.connect({ handle: 'did:plc:hostile', appPassword: 'x' }, outbound)
    const document = (serviceEndpoint: string) => ({ service: [{ id: '#atproto_pds', serviceEndpoint }] })
    const bodies = hostileBodies(AnswerBytes, document)
    await each(pds, 'GET /did:plc:hostile', byDid, { statuses: [200], bodies })
  })
})

test('an endless id from a network is not stored', async () => {
  const it = await stand()
  const id = '9'.repeat(10_000)
  it.server.next('POST /api/v1/statuses', { status: 200, body: { id, url: null, uri: null } })
  expect(await verdictOf(mastodon.send(lost('x'), it.session))).toMatchObject({ verdict: 'unknown', status: 200 })
  it.server.next('POST /api/v2/media', { status: 200, body: { id } })
  const media = [await anImage()]
  expect(await verdictOf(mastodon.prepare({ text: 'x', media }, 'key', it.session))).toMatchObject({ status: 200 })
  await it.close()
})

test('no header and no error message of a network is expensive to parse or makes us throw', async () => {
  const hostile = Object.entries(hostileBodies(AnswerBytes, (text) => text))
  for (const [name, text] of hostile) {
    const headers = { 'retry-after': text, date: text, 'x-ratelimit-reset': text, 'ratelimit-reset': text }
    await costsLittle(`sentence: ${name}`, async () => plainReason(text))
    await costsLittle(`headers: ${name}`, async () => retryAtOf(headers))
    await costsLittle(`address: ${name}`, async () => WebAddress.parse(text))
    await costsLittle(`web address: ${name}`, async () => WebAddress.parse(`https://${text}`))
    await costsLittle(`origin: ${name}`, async () => originOf(text, 'pds'))
    await costsLittle(`web origin: ${name}`, async () => originOf(`https://${text}`, 'pds'))
  }
})

test('tags are removed from an error message, and everything else stays', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('<', '>', 'a', 'b'), { maxLength: 40 }), (signs) => {
      const text = signs.join('')
      expect(plainReason(text)).toBe(text.replace(/<[^>]*>/g, '').trim())
    }),
  )
})
