// The two networks by themselves against the real servers: what they prepare, send, find and refresh is read back there.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { bluesky } from '../../jobs/networks/bluesky/bluesky.ts'
import { mintTid } from '../../jobs/networks/bluesky/tid.ts'
import { mastodon } from '../../jobs/networks/mastodon/mastodon.ts'
import type { ConnectedAccount, Content, Network, Publication, Session } from '../../jobs/networks/network.ts'
import { PublishError } from '../../jobs/networks/network.ts'
import { createOutbound } from '../../jobs/outbound/outbound.ts'
import { aNoisyImage, anImage } from '../jobs/networks/content.ts'
import { registrationsInMemory } from '../jobs/networks/mastodon/registrations.ts'
import { facetsOf, type Pds, startPds } from './pds.ts'
import { type Snac, startSnac, whyNoSnac } from './snac.ts'

const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'] })

function sessionOf({ remoteAccount, credential }: ConnectedAccount): Session {
  const { signal } = new AbortController()
  return { organisationId: randomUUID(), channelId: randomUUID(), remoteAccount, credential, outbound, signal }
}

async function publish(network: Network, session: Session, content: Content, publishKey: string = randomUUID()) {
  const prepared: unknown = JSON.parse(JSON.stringify(await network.prepare(content, publishKey, session)))
  const since = new Date()
  const publication = await network.send({ publishKey, prepared }, session)
  return { publishKey, prepared, since, publication }
}

const verdict = (wanted: string) => (error: unknown) => error instanceof PublishError && error.verdict === wanted

describe('Mastodon API on snac2', { skip: (await whyNoSnac()) ?? false }, () => {
  let snac: Snac
  let account: ConnectedAccount
  let session: Session

  before(async () => {
    snac = await startSnac()
    assert(mastodon.connecting.by === 'redirect')
    const redirectUri = 'http://localhost:3000/channels/connected'
    const access = { outbound, registrations: registrationsInMemory() }
    const request = { redirectUri, state: 'a-state' }
    const { url, kept } = await mastodon.connecting.begin({ instance: snac.url }, request, access)
    const back = new URL(await snac.consent(url))
    assert.equal(back.searchParams.get('state'), 'a-state')
    const [, server] =
      /^http:\/\/localhost:3000\/channels\/connected\/([\w-]{22})$/.exec(back.origin + back.pathname) ?? []
    const [code, iss] = ['code', 'iss'].map((name) => back.searchParams.get(name))
    const answer = { server: server ?? null, code: code ?? null, error: null, iss: iss ?? null }
    account = await mastodon.connecting.finish(kept, answer, access)
    session = sessionOf(account)
  })
  after(() => snac?.stop())

  async function statusOf({ remoteId }: Publication) {
    return (await snac.statuses()).find(({ id }) => id === remoteId) ?? assert.fail(`There is no ${remoteId}.`)
  }

  test('the account is connected with its own name and limits', () => {
    const host = new URL(snac.url).host
    assert.equal(account.handle, `@ada@${host}`)
    assert.match(account.remoteAccount, new RegExp(`^${host}/\\w+$`))
    assert.equal(account.limits.textLength, 100_000)
    assert(account.limits.mediaTypes.includes('image/png'))
  })

  test('a text arrives as it was written, in public', async () => {
    const text = 'Grüße 🎉 & <b>no tag</b>\n\nhttps://example.com/a?b=1&c=2 #tag'
    const { publication } = await publish(mastodon, session, { text, media: [] })
    const status = await statusOf(publication)
    assert.equal(status.text, text)
    assert.equal(status.visibility, 'public')
    assert((await fetch(publication.url ?? '')).ok)
  })

  test('an image arrives byte for byte, with its alternative text', async () => {
    const image = await anImage({ alt: 'Ein rotes Feld & "mehr"' })
    const { publication } = await publish(mastodon, session, { text: 'With an image', media: [image] })
    const [attachment] = (await statusOf(publication)).media_attachments
    assert.equal(attachment?.description, image.alt)
    const shown = Buffer.from(await (await fetch(attachment?.url ?? '')).arrayBuffer())
    assert(shown.equals(Buffer.from(await image.read())))
  })

  test('what may be out there is found by reading, and what is not is not', async () => {
    for (const text of [
      'Plain',
      '**bold** :-) <3 "quoted" -- `code`\n> line',
      'https://example.com/x_y?a=1&b=é #tag @bob',
    ]) {
      const { publication, ...sent } = await publish(mastodon, session, { text, media: [] })
      const ledger = { now: () => new Date(), recorded: async () => new Map(), others: async () => [] }
      const found = await mastodon.find?.({ ...sent, ...ledger }, session)
      assert(found && 'remoteId' in found)
      assert.equal(found.remoteId, publication.remoteId)
      const known = { sentAt: sent.since, recordedAt: new Date() }
      const recorded = async (ids: string[]) => new Map(ids.map((id) => [id, known])) // another's with the same link is like it
      assert.equal(await mastodon.find?.({ ...sent, ...ledger, recorded }, session), null)
    }
  })

  test('it ignores the idempotency key, which is why it is read', async () => {
    const sent = await publish(mastodon, session, { text: 'Twice', media: [] })
    const again = await mastodon.send(sent, session)
    assert.notEqual(again.remoteId, sent.publication.remoteId)
  })

  test('a token that is not good asks for a reconnection', async () => {
    const credential = { ...session.credential, token: 'nonsense' }
    const delivery = { publishKey: randomUUID(), prepared: { status: 'x', visibility: 'public', media_ids: [] } }
    await assert.rejects(mastodon.send(delivery, { ...session, credential }), verdict('reconnect'))
  })
})

describe('Bluesky on its real PDS', () => {
  let pds: Pds
  let network: Network
  let account: ConnectedAccount
  let session: Session

  before(async () => {
    pds = await startPds()
    network = bluesky(pds.plcUrl)
    account = await connect({ handle: pds.handle, appPassword: pds.password, pds: pds.url })
    session = sessionOf(account)
  })
  after(() => pds?.stop())

  async function connect(input: Record<string, string>) {
    assert(network.connecting.by === 'form')
    return network.connecting.connect(input, outbound)
  }

  test('the server is found from the DID in the directory as well, and a wrong password is told', async () => {
    const found = await connect({ handle: pds.did, appPassword: pds.password })
    assert.equal(found.credential.pds, pds.url)
    assert.equal(found.remoteAccount, pds.did)
    await assert.rejects(connect({ handle: pds.handle, appPassword: 'wrong', pds: pds.url }), { field: 'appPassword' })
  })

  test('a text arrives with its links, hashtags and mentions as facets, under the key that was minted', async () => {
    const text = `Grüße 🎉 @${pds.friend.handle} https://example.com/ü?a=1 #fête`
    const { publishKey, prepared, publication } = await publish(network, session, { text, media: [] }, mintTid())
    const { uri, value } = await pds.post(publishKey)
    assert.equal(publication.remoteId, uri)
    assert.deepEqual(value, prepared)
    assert.equal(value.text, text)
    assert.deepEqual(facetsOf(value), [
      [`@${pds.friend.handle}`, pds.friend.did],
      ['https://example.com/ü?a=1', 'https://example.com/ü?a=1'],
      ['#fête', 'fête'],
    ])
  })

  test('an image arrives with its alternative text, and one that is too large is made to fit', async () => {
    const media = [await anImage({ alt: 'Ein rotes Feld' }), await aNoisyImage({ width: 2400, height: 1600 })]
    const { publishKey } = await publish(network, session, { text: 'With images', media }, mintTid())
    const { images = [] } = (await pds.post(publishKey)).value.embed ?? {}
    assert.deepEqual(
      images.map(({ alt }) => alt),
      ['Ein rotes Feld', 'Noise'],
    )
    for (const { image } of images) {
      assert(image.size <= 2_000_000)
      assert.equal((await pds.blob(image.ref.$link)).length, image.size)
    }
  })

  test('the same key and bytes again are the same post', async () => {
    const sent = await publish(network, session, { text: 'Twice', media: [] }, mintTid())
    const { cid } = await pds.post(sent.publishKey)
    const again = await network.send(sent, session)
    assert.equal(again.remoteId, sent.publication.remoteId)
    assert.equal((await pds.post(sent.publishKey)).cid, cid)
  })

  test('a text that is too long, and too many images, are refused with the reason', async () => {
    const long = publish(network, session, { text: 'x'.repeat(301), media: [] }, mintTid())
    await assert.rejects(long, verdict('refused'))
    const image = await anImage()
    const many = publish(network, session, { text: '', media: [image, image, image, image, image] }, mintTid())
    await assert.rejects(many, (error) => verdict('refused')(error) && /image/i.test((error as Error).message))
  })

  test('the connection is renewed; the tokens that were used up, and nonsense, ask for a reconnection', async () => {
    const renewed = (await network.refresh?.(session.credential, session)) ?? assert.fail()
    assert.notEqual(renewed.accessJwt, session.credential.accessJwt)
    await publish(network, { ...session, credential: renewed }, { text: 'Renewed', media: [] }, mintTid())
    const nonsense = { ...renewed, accessJwt: `${renewed.accessJwt}x`, refreshJwt: `${renewed.refreshJwt}x` }
    const dead = { ...session, credential: nonsense }
    await assert.rejects(publish(network, dead, { text: '@bob.test', media: [] }, mintTid()), verdict('reconnect'))
    await assert.rejects(network.refresh?.(nonsense, session) ?? assert.fail(), verdict('reconnect'))
  })
})
