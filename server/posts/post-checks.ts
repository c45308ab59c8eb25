import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { ChannelLimits } from '../../db/schema/channels.ts'
import type { Override } from '../../jobs/ledger/post-view.ts'
import { excessOf } from '../../jobs/networks/text-length.ts'
import { reachesChannel, reachesMedia, type Viewer } from '../access/visibility.ts'
import type { FaultCode } from '../error-catalogue.ts'
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
}

type ChannelFacts = { id: string; name: string; network: string; status: string; limits: ChannelLimits }
type MediaFacts = { id: string; mime: string; bytes: number; alt: string; durationMs: number | null }
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

type Complaint = Omit<KnownFault, 'path'>

/** Ids that do not exist in this organisation, or are not a channel of the post. A draft is checked only for these. */
export function missingThings({ channelIds, mediaIds, overrides }: Wanted, { channels, media }: Facts): KnownFault[] {
  const noChannel: Complaint = { code: 'channel_not_found', message: 'Channel not found in this organisation.' }
  const noMedia: Complaint = { code: 'media_not_found', message: 'File not found in this organisation.' }
  const notOfPost: Complaint = {
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

/** What an edit does not change, and we do not check again. `onChannels`: the post goes out there after a reconnect. */
export type Unchanged = { date: boolean; onChannels: string[] }

/** Everything that stops a post from being scheduled, on all channels at once. */
export function validatePost(wanted: Wanted, facts: Facts, unchanged: Unchanged): KnownFault[] {
  return [
    ...missingThings(wanted, facts),
    ...(!unchanged.date && wanted.date ? dateFaults(wanted.date, facts.now) : []),
    ...emptiness(wanted),
    ...wanted.channelIds.flatMap((id, index) => {
      const channel = facts.channels.find((candidate) => candidate.id === id)
      if (!channel) return []
      const on = `${channel.name} (${channel.network})`
      const part = partFor(wanted, id)
      return [
        ...(unchanged.onChannels.includes(id) ? [] : connectionFaults(channel, on, `channelIds[${index}]`)),
        ...textFaults(channel, part),
        ...mediaFaults(channel.limits, on, part, facts.media),
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

function absent(ids: string[], found: { id: string }[], field: string, why: Complaint): KnownFault[] {
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
function emptiness(wanted: Wanted): KnownFault[] {
  const empty = wanted.channelIds
    .map((id) => partFor(wanted, id))
    .filter(({ content, mediaIds }) => content.trim() === '' && mediaIds.length === 0)
  const paths = [...new Set(empty.map(({ contentPath }) => contentPath))]
  return paths.map((path) => ({ path, code: 'content_empty', message: 'Write something or add media.' }))
}

function connectionFaults({ status }: ChannelFacts, on: string, path: string): KnownFault[] {
  if (status === 'needs_reconnect')
    return [{ path, code: 'channel_needs_reconnect', message: `Reconnect ${on} first.` }]
  if (status === 'disconnected')
    return [{ path, code: 'channel_disconnected', message: `${on} was disconnected. Connect it again first.` }]
  return []
}

function textFaults({ name, limits }: ChannelFacts, { content, contentPath }: Part): KnownFault[] {
  const excess = excessOf(limits, content)
  if (!excess) return []
  const { by, unit } = excess
  const limit = unit === 'bytes' ? limits.textBytes! : limits.textLength // excessOf names bytes only where they are bounded
  const message = `${counted(by, unit)} too long for ${name}. The limit is ${counted(limit, unit)}, and this text has ${limit + by}.`
  return [{ path: contentPath, code: 'content_too_long', message }]
}

function mediaFaults(
  limits: ChannelLimits,
  on: string,
  { mediaIds, mediaPath }: Part,
  media: MediaFacts[],
): KnownFault[] {
  const faults: KnownFault[] = []
  const add = (path: string, message: string, code: FaultCode = 'media_not_supported') =>
    faults.push({ path, code, message })
  if (mediaIds.length > limits.mediaCount)
    add(mediaPath, `${on} allows at most ${counted(limits.mediaCount, 'files')}. This post has ${mediaIds.length}.`)
  mediaIds.forEach((id, index) => {
    const file = media.find((candidate) => candidate.id === id)
    if (!file) return
    const path = `${mediaPath}[${index}]`
    const kind = file.mime.startsWith('video/') ? 'videos' : 'files'
    const bytes = kind === 'videos' ? limits.videoBytes : limits.mediaBytes
    if (!limits.mediaTypes.includes(file.mime)) add(path, `${on} doesn't accept ${file.mime}.`)
    if (bytes !== undefined && file.bytes > bytes)
      add(
        path,
        `${on} allows ${kind} of up to ${bytes.toLocaleString('en')} bytes. This one has ${file.bytes.toLocaleString('en')}.`,
      )
    const seconds = Math.ceil((file.durationMs ?? 0) / 1000)
    if (limits.videoSeconds !== undefined && seconds > limits.videoSeconds)
      add(
        path,
        `${on} allows videos of up to ${counted(limits.videoSeconds, 'seconds')}. This one has ${seconds}.`,
        'video_too_long',
      )
    if (limits.altLength !== undefined && Array.from(file.alt).length > limits.altLength)
      add(path, `${on} allows alt texts of up to ${counted(limits.altLength, 'characters')}.`)
  })
  return faults
}

/** `100 characters`, `1 character`. */
function counted(count: number, plural: string): string {
  return `${count} ${count === 1 ? plural.slice(0, -1) : plural}`
}
