import { and, desc, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { channels } from '../../db/schema/channels.ts'
import { feedItems } from '../../db/schema/feeds.ts'
import { atomOf, type Feed, jsonFeedOf } from '../../jobs/networks/feed/feed.ts'
import { open, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { Id } from '../forms.ts'

const Newest = 50
const FeedId = z.strictObject({ channelId: Id })

/** The posts of feed channels. Feeds are public. */
export const feeds = router({
  show: open.input(FeedId).query(({ ctx: { db }, input: { channelId } }) => readFeed(db, channelId)),

  item: open
    .input(FeedId.extend({ itemId: Id })) // the publish key of its delivery
    .query(async ({ ctx: { db }, input: { channelId, itemId } }) => {
      const channel = await readChannel(db, channelId)
      const [item] = await db
        .select()
        .from(feedItems)
        .where(and(eq(feedItems.id, itemId), eq(feedItems.channelId, channelId)))
      if (!item) throw new Failure('not_found')
      return { channel, item: showItem(item) }
    }),

  atom: open.input(FeedId).query(async ({ ctx: { db, env }, input: { channelId } }) => {
    const feed = await feedOf(db, env.appUrl, channelId)
    return atomOf(feed, `${feed.pageUrl}/atom.xml`)
  }),

  json: open.input(FeedId).query(async ({ ctx: { db, env }, input: { channelId } }) => {
    const feed = await feedOf(db, env.appUrl, channelId)
    return jsonFeedOf(feed, `${feed.pageUrl}/feed.json`)
  }),
})

async function feedOf(db: Db, appUrl: string, channelId: string): Promise<Feed> {
  const { channel, items } = await readFeed(db, channelId)
  const pageUrl = `${appUrl}/feeds/${channel.id}`
  return {
    ...channel,
    pageUrl,
    items: items.map((item) => ({ ...item, url: `${pageUrl}/${item.id}`, publishedAt: new Date(item.publishedAt) })),
  }
}

async function readFeed(db: Db, channelId: string) {
  const channel = await readChannel(db, channelId)
  const items = await db
    .select()
    .from(feedItems)
    .where(eq(feedItems.channelId, channelId))
    .orderBy(desc(feedItems.publishedAt), desc(feedItems.id))
    .limit(Newest)
  return { channel, items: items.map(showItem) }
}

async function readChannel(db: Db, id: string): Promise<{ id: string; name: string; connectedAt: Date }> {
  const [channel] = await db
    .select({ id: channels.id, name: channels.name, connectedAt: channels.connectedAt })
    .from(channels)
    .where(and(eq(channels.id, id), eq(channels.network, 'feed')))
  if (!channel) throw new Failure('not_found')
  return channel
}

function showItem({ id, content, media, publishedAt }: typeof feedItems.$inferSelect) {
  return { id, content, media, publishedAt: publishedAt.toISOString() }
}
