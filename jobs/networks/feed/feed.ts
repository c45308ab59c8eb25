import { randomUUID } from 'node:crypto'
import { escapeUTF8 } from 'entities'
import { generateAtomFeed, generateJsonFeed } from 'feedsmith'
import { z } from 'zod'
import type { Db } from '../../../db/client.ts'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import { feedItems } from '../../../db/schema/feeds.ts'
import { ConnectError, type ConnectedAccount, type Network } from '../network.ts'

const NameLength = 100
const Limits: ChannelLimits = {
  textLength: 5000,
  textUnit: 'characters',
  mediaCount: 10,
  mediaTypes: [
    'image/jpeg',
    'image/png',
    'image/gif',
    'image/webp',
    'image/avif',
    'video/mp4',
    'video/webm',
    'video/quicktime',
  ],
}

const Prepared = z.object({
  content: z.string(),
  media: z.array(
    z.object({
      url: z.string(),
      mime: z.string(),
      bytes: z.number(),
      alt: z.string(),
      width: z.number().nullable(),
      height: z.number().nullable(),
    }),
  ),
})

/** Our own network: a post is a row. The web process shows it as Atom, JSON Feed and a page. */
export function feed({ db, appUrl }: { db: Db; appUrl: string }): Network {
  return {
    name: 'Feed',
    repeatedSend: 'keyed',
    verifiedAgainst: 'itself, and readers from npm: htmlparser2, libxml2',
    pageOf: (channelId) => `${appUrl}/feeds/${channelId}`,
    preview: { handle: 'hidden', marks: ['link'], media: 'column', textSize: 'normal' },
    connecting: { by: 'form', connect: async ({ name = '' }, _, account) => aFeed(name.trim(), account) },
    prepare: async ({ text, media }) => {
      const kept = media.map(({ url, mime, bytes, alt, width, height }) => ({ url, mime, bytes, alt, width, height }))
      return { content: text, media: kept } satisfies z.infer<typeof Prepared>
    },
    send: async ({ publishKey, prepared }, { organisationId, channelId }) => {
      const item = { id: publishKey, organisationId, channelId, ...Prepared.parse(prepared) }
      await db.insert(feedItems).values(item).onConflictDoNothing()
      return { remoteId: publishKey, url: `${appUrl}/feeds/${channelId}/${publishKey}` }
    },
  }
}

function aFeed(name: string, remoteAccount: string = randomUUID()): ConnectedAccount {
  if (!name) throw new ConnectError('Give the feed a name.', { field: 'name' })
  if (name.length > NameLength)
    throw new ConnectError(`This name is too long. Use at most ${NameLength} characters.`, { field: 'name' })
  return {
    remoteAccount,
    name,
    handle: null,
    url: null,
    pictureUrl: null,
    limits: Limits,
    credential: {},
  }
}

export type FeedItem = {
  id: string // a UUID
  url: string
  content: string
  publishedAt: Date
  media: { url: string; mime: string; bytes: number; alt: string }[]
}

/** A feed channel as its readers see it. `id` is the channel's; `items` has the newest first. */
export type Feed = { id: string; name: string; pageUrl: string; items: FeedItem[]; connectedAt: Date }

const TitleLength = 80

/** `feed` as Atom (RFC 4287), application/atom+xml. `selfUrl` is the URL of this document. */
export function atomOf(feed: Feed, selfUrl: string): string {
  const name = writable(feed.name)
  return generateAtomFeed({
    id: `urn:uuid:${feed.id}`,
    title: { value: name },
    updated: feed.items[0]?.publishedAt ?? feed.connectedAt,
    authors: [{ name }],
    links: [
      { rel: 'self', type: 'application/atom+xml', href: selfUrl },
      { rel: 'alternate', type: 'text/html', href: feed.pageUrl },
    ],
    entries: feed.items.map((item) => ({
      id: `urn:uuid:${item.id}`,
      title: { value: writable(titleOf(item)) },
      published: item.publishedAt,
      updated: item.publishedAt,
      links: [{ rel: 'alternate', type: 'text/html', href: item.url }, ...item.media.map(enclosureOf)],
      content: { type: 'html', value: writable(htmlOf(item)) },
    })),
  })
}

/** `feed` as JSON Feed (https://www.jsonfeed.org/version/1.1/), application/feed+json. `selfUrl` is its URL. */
export function jsonFeedOf(feed: Feed, selfUrl: string): string {
  const { name } = feed
  const whole = generateJsonFeed({
    title: name,
    home_page_url: feed.pageUrl,
    feed_url: selfUrl,
    authors: [{ name }],
    items: feed.items.map((item) => ({
      id: `urn:uuid:${item.id}`,
      url: item.url,
      content_text: item.content,
      content_html: htmlOf(item),
      date_published: item.publishedAt,
      attachments: item.media.map(attachmentOf),
    })),
  })
  return JSON.stringify(whole)
}

type FeedMedia = FeedItem['media'][number]

function enclosureOf({ url, mime, bytes, alt }: FeedMedia) {
  return { rel: 'enclosure', type: mime, length: bytes, title: writable(alt), href: url }
}

function attachmentOf({ url, mime, bytes, alt }: FeedMedia) {
  return { url, mime_type: mime, size_in_bytes: bytes, ...(alt ? { title: alt } : {}) }
}

function titleOf({ content, media }: FeedItem): string {
  const title = linesOf(content).trim().split('\n', 1)[0] || media.find(({ alt }) => alt)?.alt || 'Untitled'
  const characters = Array.from(title)
  return characters.length > TitleLength ? `${characters.slice(0, TitleLength - 1).join('')}…` : title
}

function htmlOf({ content, media }: FeedItem): string {
  const paragraphs = linesOf(content)
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escapeUTF8(paragraph).replaceAll('\n', '<br>')}</p>`)
  const shown = media.map(({ url, mime, alt }) =>
    mime.startsWith('image/')
      ? `<p><img src="${escapeUTF8(url)}" alt="${escapeUTF8(alt)}"></p>`
      : `<p><video src="${escapeUTF8(url)}" controls></video></p>`,
  )
  return [...(content ? paragraphs : []), ...shown].join('\n')
}

// Callers end lines in other ways too: U+000B and U+000C are what office programs have inside a paragraph and before a page.
function linesOf(text: string): string {
  return text.replace(/\r\n?|[\v\f]/g, '\n')
}

// XML 1.0 §2.2 does not allow these characters.
function writable(text: string): string {
  return text.toWellFormed().replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
}
