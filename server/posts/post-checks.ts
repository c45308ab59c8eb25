import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { ChannelLimits } from '../../db/schema/channels.ts'
import type { Override } from '../../jobs/ledger/post-view.ts'
import { type CheckedFile, type Complaint, check, emptiness } from '../../jobs/networks/check.ts'
import { reachesChannel, reachesMedia, type Viewer } from '../access/visibility.ts'
import type { KnownFault } from '../errors.ts'

const ToleranceMs = 60_000 // the caller's clock and ours differ
const FurthestYears = 5

/** A post as its author wants it. `date` is null for "now" and for a draft without one. */
export type Wanted = {
  content: string
  date: Date | null
  channelIds: string[]
  mediaIds: string[]
  overrides: Override[]
  tags: string[]
}

type ChannelFacts = { id: string; name: string; network: string; status: string; limits: ChannelLimits }
type MediaFacts = CheckedFile & { id: string }
export type Facts = { now: Date; channels: ChannelFacts[]; media: MediaFacts[] }

/**
 * What the checks need to know, in one statement: the database's clock, and the channels and media with these ids that the
 * actor can see. They are locked until the transaction ends, so that nobody deletes them before the post exists.
 */
export async function loadPostContext(tx: Tx, who: Viewer, wanted: Wanted): Promise<Facts> {
  const mediaIds = [wanted, ...wanted.overrides].flatMap(({ mediaIds }) => mediaIds ?? [])
  const [row] = await tx.execute<{ now: string; channels: ChannelFacts[]; media: MediaFacts[] }>(sql`
    select now() as now,
      (select coalesce(json_agg(c), '[]') from (
        select id, name, network, status, limits from channels
        where organisation_id = ${who.organisationId} and ${reachesChannel(who, sql`id`)} and id = any(${sql.param(wanted.channelIds)}::uuid[])
        order by id for key share) c) as channels,
      (select coalesce(json_agg(m), '[]') from (
        select id, mime, bytes, alt, duration_ms as "durationMs" from media
        where organisation_id = ${who.organisationId} and ${reachesMedia(who)} and id = any(${sql.param(mediaIds)}::uuid[])
        order by id for key share) m) as media`)
  return { now: new Date(row!.now), channels: row!.channels, media: row!.media }
}

type Missing = Omit<KnownFault, 'path'>

/** Ids that do not exist in this organisation, or are not a channel of the post. A draft is checked only for these. */
export function missingThings({ channelIds, mediaIds, overrides }: Wanted, { channels, media }: Facts): KnownFault[] {
  const noChannel: Missing = { code: 'channel_not_found', message: 'Channel not found in this organisation.' }
  const noMedia: Missing = { code: 'media_not_found', message: 'File not found in this organisation.' }
  const notOfPost: Missing = {
    code: 'channel_not_found',
    message: "This channel is not one of the post's channels.",
  }
  return [
    ...absent(channelIds, channels, 'channelIds', noChannel),
    ...absent(mediaIds, media, 'mediaIds', noMedia),
    ...overrides.flatMap((override, i) => [
      ...(channelIds.includes(override.channelId) ? [] : [{ path: `overrides[${i}].channelId`, ...notOfPost }]),
      ...absent(override.mediaIds ?? [], media, `overrides[${i}].mediaIds`, noMedia),
    ]),
  ]
}

/**
 * What an edit does not change, and we do not check again. `onChannels`: the post goes out there after a reconnect.
 * `published`: it is out there, and nothing more is sent.
 */
export type Unchanged = { date: boolean; onChannels: string[]; published: string[] }

/** Everything that stops a post from being scheduled, on all channels at once. */
export function validatePost(wanted: Wanted, facts: Facts, unchanged: Unchanged): KnownFault[] {
  return [
    ...missingThings(wanted, facts),
    ...(!unchanged.date && wanted.date ? dateFaults(wanted.date, facts.now) : []),
    ...emptyFaults(wanted, unchanged.published),
    ...wanted.channelIds.flatMap((id, index) => {
      const channel = facts.channels.find((candidate) => candidate.id === id)
      if (!channel || unchanged.published.includes(id)) return []
      const on = `${channel.name} (${channel.network})`
      const part = partFor(wanted, id)
      return [
        ...(unchanged.onChannels.includes(id) ? [] : connectionFaults(channel, on, `channelIds[${index}]`)),
        ...contentFaults(channel, part, facts.media),
      ]
    }),
  ]
}

/** What goes out on one channel, and the path of its text and media in the request. */
type Part = { content: string; contentPath: string; mediaIds: string[]; mediaPath: string }

function partFor({ content, mediaIds, overrides }: Wanted, channelId: string): Part {
  const i = overrides.findIndex((override) => override.channelId === channelId)
  const own = overrides[i]
  return {
    content: own?.content ?? content,
    contentPath: own?.content === undefined ? 'content' : `overrides[${i}].content`,
    mediaIds: own?.mediaIds ?? mediaIds,
    mediaPath: own?.mediaIds === undefined ? 'mediaIds' : `overrides[${i}].mediaIds`,
  }
}

function absent(ids: string[], found: { id: string }[], field: string, why: Missing): KnownFault[] {
  return ids.flatMap((id, index) =>
    found.some((thing) => thing.id === id) ? [] : [{ path: `${field}[${index}]`, ...why }],
  )
}

function dateFaults(date: Date, now: Date): KnownFault[] {
  if (date.getTime() < now.getTime() - ToleranceMs)
    return [{ path: 'date', code: 'date_in_past', message: 'This time is in the past. Choose a later time.' }]
  const furthest = new Date(now)
  furthest.setUTCFullYear(furthest.getUTCFullYear() + FurthestYears)
  if (date > furthest)
    return [
      {
        path: 'date',
        code: 'date_too_far',
        message: `This is more than ${FurthestYears} years ahead. Choose an earlier time.`,
      },
    ]
  return []
}

// Channels without their own text share the post's: report a missing text once, not for each of them.
function emptyFaults(wanted: Wanted, published: string[]): KnownFault[] {
  const going = wanted.channelIds.filter((id) => !published.includes(id))
  const faults = going.flatMap((id) => {
    const part = partFor(wanted, id)
    const complaint = emptiness({ text: part.content, media: part.mediaIds })
    return complaint ? [faultOf(complaint, part)] : []
  })
  return faults.filter(({ path }, index) => faults.findIndex((fault) => fault.path === path) === index)
}

function contentFaults(channel: ChannelFacts, part: Part, media: MediaFacts[]): KnownFault[] {
  const files = part.mediaIds.map((id) => media.find((candidate) => candidate.id === id) ?? null)
  return check({ text: part.content, media: files }, channel).map((complaint) => faultOf(complaint, part))
}

function faultOf({ of, code, message }: Complaint, { contentPath, mediaPath }: Part): KnownFault {
  const path = of === 'text' ? contentPath : of === 'media' ? mediaPath : `${mediaPath}[${of}]`
  return { path, code, message }
}

function connectionFaults({ status }: ChannelFacts, on: string, path: string): KnownFault[] {
  if (status === 'needs_reconnect')
    return [{ path, code: 'channel_needs_reconnect', message: `Reconnect ${on} first.` }]
  if (status === 'disconnected')
    return [{ path, code: 'channel_disconnected', message: `${on} was disconnected. Connect it again first.` }]
  return []
}
