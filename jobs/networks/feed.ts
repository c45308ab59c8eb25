import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { type ChannelLimits, feedItems } from '../../db/schema.ts'
import { ConnectError, type ConnectedAccount, type Network } from './network.ts'

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

/** Our own network: what is published is a row, which the web process shows as Atom, JSON Feed and a page. */
export function feed({ db, appUrl }: { db: Db; appUrl: string }): Network {
  return {
    name: 'Feed',
    repeatedSend: 'keyed',
    verifiedAgainst: 'itself, read by feedsmith and checked against the Atom schema of RFC 4287',
    connecting: { by: 'form', connect: async ({ name = '' }) => newFeed(name.trim()) },
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

function newFeed(name: string): ConnectedAccount {
  if (!name) throw new ConnectError('Give the feed a name.', { field: 'name' })
  if (name.length > NameLength)
    throw new ConnectError(`A name has at most ${NameLength} characters.`, { field: 'name' })
  return {
    remoteAccount: randomUUID(),
    name,
    handle: null,
    url: null, // the channel's own id is not known yet
    pictureUrl: null,
    limits: Limits,
    credential: {},
  }
}
