import { randomUUID } from 'node:crypto'
import { DomUtils, parseDocument } from 'htmlparser2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { organisations } from '../../../../db/schema/accounts.ts'
import { channels } from '../../../../db/schema/channels.ts'
import { feedItems } from '../../../../db/schema/feeds.ts'
import { atomOf, type Feed, feed, jsonFeedOf } from '../../../../jobs/networks/feed/feed.ts'
import { ConnectError } from '../../../../jobs/networks/network.ts'
import { testDatabase } from '../../../postgres/database.ts'
import { contract, outboundToLoopback, type Stand } from '../http-contract.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.end())

describe('the contract', () => contract(stand))

async function stand(): Promise<Stand> {
  const { db } = database
  const network = feed({ db, appUrl: 'https://punctual.test' })
  const account = await connect('News')
  const [organisation] = await db.insert(organisations).values({ name: 'Ours' }).returning()
  const organisationId = organisation?.id ?? ''
  const { remoteAccount, name, limits } = account
  const [channel] = await db
    .insert(channels)
    .values({ organisationId, network: 'feed', remoteAccount, name, limits })
    .returning()
  const session = {
    organisationId,
    channelId: channel?.id ?? '',
    remoteAccount,
    credential: account.credential,
    outbound: outboundToLoopback(),
    signal: new AbortController().signal,
  }
  return { network, session, newKey: randomUUID, shown: () => db.select().from(feedItems), close: async () => {} }
}

async function connect(name: string) {
  const { connecting } = feed({ db: database.db, appUrl: 'https://punctual.test' })
  if (connecting.by !== 'form') throw new Error('A feed is connected by a form.')
  return connecting.connect({ name }, outboundToLoopback())
}

test('a feed needs a name of 1 to 100 characters, and each connect makes another account', async () => {
  for (const name of ['', '  ', 'x'.repeat(101)]) await expect(connect(name)).rejects.toBeInstanceOf(ConnectError)
  const [one, other] = [await connect(' News '), await connect('News')]
  expect(one.name).toBe('News')
  expect(one.remoteAccount).not.toBe(other.remoteAccount)
})

const selfUrl = 'https://punctual.test/feeds/1/atom?a=1&b=2'
const image = { url: 'https://punctual.test/m/1?a&b', mime: 'image/png', bytes: 1234, alt: 'A "red" <field> & more' }
const nasty: Feed = {
  id: randomUUID(),
  name: 'R&D <b>"news"</b> ]]> \u0000\u0008\uFFFF\uD800 🎉',
  pageUrl: 'https://punctual.test/feeds/1',
  connectedAt: new Date('2026-01-01T00:00:00Z'),
  items: [
    {
      id: randomUUID(),
      url: 'https://punctual.test/feeds/1/a',
      content: '<script>alert(1)</script> & "quotes"\r\nline two\n\nparagraph ]]> &amp; \u0001 🎉',
      publishedAt: new Date('2026-11-21T10:00:00.123Z'),
      media: [image, { ...image, mime: 'video/mp4', alt: '' }],
    },
    { id: randomUUID(), url: 'https://punctual.test/feeds/1/b', content: '', publishedAt: new Date(1), media: [image] },
    {
      id: randomUUID(),
      url: 'https://punctual.test/feeds/1/c',
      content: 'x'.repeat(99),
      publishedAt: new Date(0),
      media: [],
    },
  ],
}

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number]

// Not the parser of the library that writes the feed.
function readAtom(atom: string) {
  const [feed] = DomUtils.getElementsByTagName('feed', parseDocument(atom, { xmlMode: true }).children, false)
  return { ...partsOf(feed!), entries: childrenOf(feed!, 'entry').map(partsOf) }
}

function partsOf(element: Element) {
  const textIn = (name: string) => childrenOf(element, name).map((child) => DomUtils.textContent(child).trim())[0]
  const links = childrenOf(element, 'link').map(({ attribs }) => attribs)
  const [id, title, updated, published, content] = ['id', 'title', 'updated', 'published', 'content'].map(textIn)
  return { id, title, updated, published, content, links }
}

function childrenOf(element: Element, name: string): Element[] {
  return DomUtils.getElementsByTagName(name, element.children, false)
}

describe('as Atom', () => {
  test('a feed with hostile content is valid XML, and reads back unchanged', async () => {
    const atom = atomOf(nasty, selfUrl)
    expect(await validateXML({ xml: atom, normalization: 'format' })).toMatchObject({ valid: true, errors: [] })
    const read = readAtom(atom)
    expect(read).toMatchObject({
      id: `urn:uuid:${nasty.id}`,
      title: 'R&D <b>"news"</b> ]]> � 🎉',
      updated: '2026-11-21T10:00:00.123Z',
    })
    expect(read.links).toContainEqual({ rel: 'self', type: 'application/atom+xml', href: selfUrl })
    const [first, second, third] = read.entries
    expect(first).toMatchObject({
      id: `urn:uuid:${nasty.items[0]?.id}`,
      title: '<script>alert(1)</script> & "quotes"',
      published: '2026-11-21T10:00:00.123Z',
    })
    expect(first?.links).toContainEqual({
      rel: 'alternate',
      type: 'text/html',
      href: 'https://punctual.test/feeds/1/a',
    })
    expect(first?.links).toContainEqual({
      rel: 'enclosure',
      type: 'image/png',
      length: '1234',
      title: image.alt,
      href: image.url,
    })
    expect(second?.title).toBe(image.alt)
    expect(third?.title).toHaveLength(80)
  })

  test('markup in a text is shown as text, never run', () => {
    const { content } = readAtom(atomOf(nasty, selfUrl)).entries[0]!
    expect(content).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(content).not.toContain('<script>')
  })

  test('lines end where they do, whatever ends them', () => {
    const content = 'One\r\ntwo\rthree\vfour\r\n\r\nfive\r\rsix'
    const item = { ...nasty.items[0]!, content, media: [] }
    const html = '<p>One<br>two<br>three<br>four</p>\n<p>five</p>\n<p>six</p>'
    expect(readAtom(atomOf({ ...nasty, items: [item] }, selfUrl)).entries).toMatchObject([
      { title: 'One', content: html },
    ])
    expect(JSON.parse(jsonFeedOf({ ...nasty, items: [item] }, selfUrl)).items).toMatchObject([{ content_html: html }])
  })

  test('an empty feed is valid XML too', async () => {
    const empty = atomOf({ ...nasty, items: [] }, selfUrl)
    expect(await validateXML({ xml: empty, normalization: 'format' })).toMatchObject({ valid: true })
    expect(readAtom(empty)).toMatchObject({ updated: '2026-01-01T00:00:00.000Z' })
  })
})

test('as JSON Feed it reads back unchanged, with its media as attachments', () => {
  const read = JSON.parse(jsonFeedOf(nasty, selfUrl))
  expect(read).toMatchObject({
    version: 'https://jsonfeed.org/version/1.1',
    title: nasty.name,
    feed_url: selfUrl,
    home_page_url: nasty.pageUrl,
  })
  expect(read.items[0]).toMatchObject({
    id: `urn:uuid:${nasty.items[0]?.id}`,
    url: 'https://punctual.test/feeds/1/a',
    content_text: nasty.items[0]?.content,
    content_html: expect.stringContaining('&lt;script&gt;'),
    date_published: '2026-11-21T10:00:00.123Z',
  })
  expect(read.items[0].attachments[0]).toEqual({
    url: image.url,
    mime_type: 'image/png',
    size_in_bytes: 1234,
    title: image.alt,
  })
})
