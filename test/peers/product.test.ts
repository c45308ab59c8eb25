// The whole product against the real servers: from the sign-up, over the pages and the public API, to what they show.
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Delivery, Post } from '../../jobs/ledger/post-view.ts'
import type { Media } from '../../server/media/media.ts'
import { anImage } from '../jobs/networks/content.ts'
import { until } from '../processes.ts'
import { type Browser, openBrowser } from './browser.ts'
import { linksIn } from './forms.ts'
import { facetsOf, type Pds, startPds } from './pds.ts'
import { type Product, startProduct } from './product.ts'
import { startProxy } from './proxy.ts'
import { type Snac, startSnac, whyNoSnac } from './snac.ts'

const withoutSnac = (await whyNoSnac()) ?? false
const AheadMs = 4000
const Alt = 'Ein rotes Feld & "mehr"'

describe('The whole product', () => {
  let pds: Pds
  let snac: Snac
  let product: Product
  let person: Browser
  let key: string
  let pictures: Server
  let bluesky: string
  let mastodon: string | undefined
  let media: Media
  let textPost: Post
  let imagePost: Post

  before(async () => {
    pds = await startPds()
    if (!withoutSnac) snac = await startSnac()
    product = await startProduct({ OUTBOUND_ALLOW: '127.0.0.0/8,::1/128', BLUESKY_PLC_URL: pds.plcUrl })
    const picture = await (await anImage({ width: 640, height: 480 })).read()
    pictures = createServer((_, response) => response.end(picture)).listen(0, '127.0.0.1')
    await once(pictures, 'listening')
  })
  after(async () => {
    pictures?.close()
    await Promise.all([product?.stop(), snac?.stop(), pds?.stop()])
  })

  async function api<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    const response = await fetch(`${product.url}/public/v1${path}`, {
      method,
      headers: { authorization: key, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    assert(response.ok, `${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as T
  }

  async function settled({ id }: Post, withinMs = 30_000): Promise<Post> {
    return until(async () => {
      const post = await api<Post>('GET', `/posts/${id}`)
      return !['SCHEDULED', 'PUBLISHING'].includes(post.status) && post
    }, withinMs)
  }

  function deliveryTo(channelId: string | undefined, post: Post): Delivery {
    return post.deliveries.find((delivery) => delivery.channelId === channelId) ?? assert.fail('No such delivery.')
  }

  async function connectBluesky(typed: { handle: string; pds: string }): Promise<string> {
    const { handle, pds: server } = typed
    const { url, html } = await person.submit('/channels?connect=bluesky', {
      'input.handle': handle,
      'input.appPassword': pds.password,
      'input.pds': server,
    })
    return url.searchParams.get('connected') ?? assert.fail(html)
  }

  async function connectMastodon(server: string): Promise<string> {
    const { html } = await person.submit('/channels?connect=mastodon', { 'input.instance': server })
    const consent = linksIn(html).find((link) => link.startsWith(`${server}/oauth/authorize?`)) ?? assert.fail(html)
    const back = await snac.consent(consent)
    assert(back.startsWith(`${product.url}/channels/connected/`), back)
    const { url } = await person.open(back)
    return url.searchParams.get('connected') ?? assert.fail(`${url}`)
  }

  test('a person signs up and generates a key, which acts for their organisation', async () => {
    person = openBrowser(product.url)
    const email = `${randomUUID()}@example.org`
    await person.submit('/signup', { name: 'Ada', email, password: 'correct horse battery', organisation: 'Lovelace' })
    const { html } = await person.submit('/settings/developers/access?generate', { name: 'A third party' })
    key = /pak_live_\w{36}/.exec(html)?.[0] ?? assert.fail(html)
    const me = await api<{ organisation: { name: string } }>('GET', '/me')
    assert.equal(me.organisation.name, 'Lovelace')
  })

  test('they connect a Bluesky account, its server typed or found from the directory', async () => {
    bluesky = await connectBluesky({ handle: pds.handle, pds: pds.url })
    assert.equal(await connectBluesky({ handle: pds.did, pds: '' }), bluesky)
    const channel = await api<{ handle: string; status: string }>('GET', `/channels/${bluesky}`)
    assert.equal(channel.handle, `@${pds.handle}`)
    assert.equal(channel.status, 'ACTIVE')
  })

  test('they connect a Mastodon account by way of its consent page', { skip: withoutSnac }, async () => {
    mastodon = await connectMastodon(snac.url)
    const channel = await api<{ handle: string; status: string }>('GET', `/channels/${mastodon}`)
    assert.equal(channel.handle, `@ada@${new URL(snac.url).host}`)
    assert.equal(channel.status, 'ACTIVE')
  })

  test('a third party takes an image from a URL and schedules two posts, which go out at their hour', async (t) => {
    const url = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/picture`
    media = await api<Media>('POST', '/media/upload-from-url', { url, alt: Alt })
    assert.deepEqual([media.width, media.height, media.mime, media.alt], [640, 480, 'image/png', Alt])
    const date = new Date(Date.now() + AheadMs).toISOString()
    const common = { type: 'schedule', date, channelIds: mastodon ? [bluesky, mastodon] : [bluesky] }
    const content = `Grüße 🎉 @${pds.friend.handle} https://example.com/ü?a=1 #fête\n\n${randomUUID()}`
    textPost = await api<Post>('POST', '/posts', { ...common, content })
    imagePost = await api<Post>('POST', '/posts', { ...common, content: 'With an image', mediaIds: [media.id] })
    assert.equal(textPost.status, 'SCHEDULED')

    textPost = await settled(textPost)
    imagePost = await settled(imagePost)

    for (const delivery of [...textPost.deliveries, ...imagePost.deliveries]) {
      assert.equal(delivery.status, 'PUBLISHED', JSON.stringify(delivery))
      assert.equal(delivery.attempts, 1)
      const lateMs = Date.parse(delivery.publishedAt ?? '') - Date.parse(date)
      assert(lateMs >= 0 && lateMs < 10_000, `${lateMs} ms late`)
      t.diagnostic(`${delivery.network}: ${lateMs} ms after its hour`)
    }
  })

  test('the PDS shows the text with link, hashtag and mention, and the image with its alternative text', async () => {
    const text = await pds.post(rkeyOf(deliveryTo(bluesky, textPost)))
    assert.equal(text.uri, deliveryTo(bluesky, textPost).remoteId)
    assert.equal(text.value.text, textPost.content)
    assert.deepEqual(facetsOf(text.value), [
      [`@${pds.friend.handle}`, pds.friend.did],
      ['https://example.com/ü?a=1', 'https://example.com/ü?a=1'],
      ['#fête', 'fête'],
    ])
    const { value } = await pds.post(rkeyOf(deliveryTo(bluesky, imagePost)))
    assert.equal(value.text, 'With an image')
    const [image] = value.embed?.images ?? []
    assert.equal(image?.alt, Alt)
    assert.deepEqual(image.aspectRatio, { width: 640, height: 480 })
    assert.equal(sha256(await pds.blob(image.image.ref.$link)), media.sha256)
  })

  test('snac2 shows the text, and the image with its alternative text', { skip: withoutSnac }, async () => {
    const statuses = await snac.statuses()
    const [text, image] = [textPost, imagePost].map((post) => {
      const { remoteId, url } = deliveryTo(mastodon, post)
      const status = statuses.find(({ id }) => id === remoteId) ?? assert.fail(`There is no ${remoteId}.`)
      assert.equal(status.text, post.content)
      assert.equal(status.visibility, 'public')
      assert.equal(status.url, url)
      return status
    })
    assert.deepEqual(text?.media_attachments, [])
    const [attachment] = image?.media_attachments ?? []
    assert.equal(attachment?.description, Alt)
    assert.equal(sha256(await bytesAt(attachment.url)), media.sha256)
    assert((await bytesAt(image?.url ?? '')).includes('With an image'))
  })

  test('kill -9 of the only worker in mid-send: exactly one post each, whether the server had it or not', {
    skip: withoutSnac,
    timeout: 240_000,
  }, async (t) => {
    await using statusUnheard = await startProxy(snac.url)
    await using statusHeard = await startProxy(snac.url)
    await using recordHeard = await startProxy(pds.url)
    const onSnac = async ({ content }: Post) => (await snac.statuses()).filter(({ text }) => text === content).length
    const onPds = async ({ content }: Post) => (await pds.posts()).filter(({ text }) => text === content).length
    const sends = [
      { lose: statusHeard.loseNext('answer'), channel: await connectMastodon(statusHeard.url), countOf: onSnac },
      { lose: statusUnheard.loseNext('request'), channel: await connectMastodon(statusUnheard.url), countOf: onSnac },
      {
        lose: recordHeard.loseNext('answer'),
        channel: await connectBluesky({ handle: pds.handle, pds: recordHeard.url }),
        countOf: onPds,
      },
    ]
    const posts = await Promise.all(
      sends.map(({ channel }, i) => {
        // Nothing like each other: they are on one account by three ways, and what is like another is never called absent.
        const opening = ['The harbour opens at noon', 'Soup with bread for lunch', 'We moved our workshop'][i]
        const content = `${opening} https://example.com/${randomUUID()}`
        return api<Post>('POST', '/posts', { type: 'now', content, channelIds: [channel] })
      }),
    )
    const counts = () => Promise.all(posts.map((post, i) => sends[i]?.countOf(post)))

    await Promise.all(sends.map(({ lose }) => lose))
    const [worker, ...others] = await product.workers()
    assert(worker && others.length === 0)
    process.kill(worker, 'SIGKILL')
    const killedAt = Date.now()
    await until(async () => (await product.workers()).some((pid) => pid !== worker))
    assert.deepEqual(await counts(), [1, 0, 1])
    for (const { id } of posts) assert.equal((await api<Post>('GET', `/posts/${id}`)).status, 'PUBLISHING')

    const ended = posts.map(async (post) => {
      const [delivery] = (await settled(post, 200_000)).deliveries
      t.diagnostic(`${delivery?.network}: ${delivery?.status} ${Math.round((Date.now() - killedAt) / 1000)} s after`)
      return delivery ?? assert.fail()
    })
    const [heard, unheard, record] = await Promise.all(ended)
    for (const delivery of [heard, unheard, record])
      assert.equal(delivery?.status, 'PUBLISHED', JSON.stringify(delivery))
    assert.deepEqual([heard?.attempts, unheard?.attempts, record?.attempts], [1, 2, 2])
    assert.deepEqual(await counts(), [1, 1, 1])
    for (const [i, delivery] of [heard, unheard].entries()) {
      const page = await bytesAt(delivery?.url ?? '')
      assert(page.includes(posts[i]?.content.split('/').at(-1) ?? '-'))
    }
  })
})

function rkeyOf({ remoteId }: Delivery): string {
  return remoteId?.split('/').at(-1) ?? assert.fail('It has no id there.')
}

async function bytesAt(url: string): Promise<Buffer> {
  const response = await fetch(url)
  assert(response.ok, `${url} answered ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
