import { sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import type { ChannelLimits } from '../db/schema.ts'
import { excessOf, lengthOf } from '../jobs/networks/text.ts'
import type { Fault } from './errors.ts'
import { reachesChannel, type Who } from './reach.ts'

const ToleranceMs = 60_000 // the caller's clock and ours differ
const FurthestYears = 5

/** A post as its maker wants it. `date` is null for "now" and for a draft without one. */
export type Wanted = { content: string; date: Date | null; channelIds: string[]; mediaIds: string[] }

type ChannelFacts = { id: string; name: string; network: string; status: string; limits: ChannelLimits }
type MediaFacts = { id: string; mime: string; bytes: number; alt: string }
export type Facts = { now: Date; channels: ChannelFacts[]; media: MediaFacts[] }

/**
 * What the rules need to know, in one statement: the database's clock and the organisation's channels and media of these
 * ids. The channels cannot be disconnected before the transaction ends, which would leave what it makes behind.
 */
export async function factsFor(tx: Tx, who: Who, wanted: Wanted): Promise<Facts> {
  const [row] = await tx.execute<{ now: string; channels: ChannelFacts[]; media: MediaFacts[] }>(sql`
    select now() as now,
      (select coalesce(json_agg(c), '[]') from (
        select id, name, network, status, limits from channels
        where organisation_id = ${who.organisationId} and ${reachesChannel(who, sql`id`)} and id = any(${sql.param(wanted.channelIds)}::uuid[])
        order by id for key share) c) as channels,
      (select coalesce(json_agg(json_build_object('id', id, 'mime', mime, 'bytes', bytes, 'alt', alt)), '[]')
        from media where organisation_id = ${who.organisationId} and id = any(${sql.param(wanted.mediaIds)}::uuid[])) as media`)
  return { now: new Date(row!.now), channels: row!.channels, media: row!.media }
}

/** Ids that name nothing of this organisation; all that is asked of a draft. */
export function missingThings({ channelIds, mediaIds }: Wanted, { channels, media }: Facts): Fault[] {
  return [
    ...absent(
      channelIds,
      channels,
      'channelIds',
      'channel_not_found',
      'There is no such channel in this organisation.',
    ),
    ...absent(mediaIds, media, 'mediaIds', 'media_not_found', 'There is no such media in this organisation.'),
  ]
}

/** What of a post stays as it is, and is therefore not asked again. `onChannels`: it goes out there once they are reconnected. */
export type Unchanged = { date: boolean; onChannels: string[] }

/** Everything that keeps a post from being scheduled, on every channel at once. */
export function obstacles(wanted: Wanted, facts: Facts, unchanged: Unchanged): Fault[] {
  return [
    ...missingThings(wanted, facts),
    ...(!unchanged.date && wanted.date ? dateFaults(wanted.date, facts.now) : []),
    ...emptiness(wanted),
    ...wanted.channelIds.flatMap((id, index) => {
      const channel = facts.channels.find((candidate) => candidate.id === id)
      if (!channel) return []
      const on = `${channel.name} (${channel.network})`
      return [
        ...(unchanged.onChannels.includes(id) ? [] : connectionFaults(channel, on, `channelIds[${index}]`)),
        ...textFaults(channel.limits, on, wanted.content),
        ...mediaFaults(channel.limits, on, wanted.mediaIds, facts.media),
      ]
    }),
  ]
}

function absent(ids: string[], found: { id: string }[], field: string, code: string, message: string): Fault[] {
  return ids.flatMap((id, index) =>
    found.some((thing) => thing.id === id) ? [] : [{ path: `${field}[${index}]`, code, message }],
  )
}

function dateFaults(date: Date, now: Date): Fault[] {
  if (date.getTime() < now.getTime() - ToleranceMs)
    return [{ path: 'date', code: 'date_in_past', message: `This is past: it is ${now.toISOString()}.` }]
  const furthest = new Date(now)
  furthest.setUTCFullYear(furthest.getUTCFullYear() + FurthestYears)
  if (date > furthest) return [{ path: 'date', code: 'date_too_far', message: `At most ${FurthestYears} years ahead.` }]
  return []
}

function emptiness({ content, mediaIds }: Wanted): Fault[] {
  if (content.trim() !== '' || mediaIds.length > 0) return []
  return [{ path: 'content', code: 'content_empty', message: 'Write something or add media.' }]
}

function connectionFaults({ status }: ChannelFacts, on: string, path: string): Fault[] {
  if (status === 'needs_reconnect')
    return [{ path, code: 'channel_needs_reconnect', message: `${on} must be reconnected first.` }]
  if (status === 'disconnected')
    return [{ path, code: 'channel_disconnected', message: `${on} was disconnected. Connect it again first.` }]
  return []
}

function textFaults(limits: ChannelLimits, on: string, content: string): Fault[] {
  const excess = excessOf(limits, content)
  if (!excess) return []
  const message = `Too long for ${on} by ${excess.by} ${excess.unit}: it takes ${limits.textLength} ${limits.textUnit}, this has ${lengthOf(limits, content)}.`
  return [{ path: 'content', code: 'content_too_long', message }]
}

function mediaFaults(limits: ChannelLimits, on: string, mediaIds: string[], media: MediaFacts[]): Fault[] {
  const faults: Fault[] = []
  const add = (path: string, message: string) => faults.push({ path, code: 'media_not_supported', message })
  if (mediaIds.length > limits.mediaCount) add('mediaIds', `${on} takes at most ${limits.mediaCount} files.`)
  mediaIds.forEach((id, index) => {
    const file = media.find((candidate) => candidate.id === id)
    if (!file) return
    const path = `mediaIds[${index}]`
    if (!limits.mediaTypes.includes(file.mime)) add(path, `${on} does not take ${file.mime}.`)
    if (limits.mediaBytes !== undefined && file.bytes > limits.mediaBytes)
      add(path, `${on} takes files of up to ${limits.mediaBytes} bytes, this has ${file.bytes}.`)
    if (limits.altLength !== undefined && Array.from(file.alt).length > limits.altLength)
      add(path, `${on} takes alt texts of up to ${limits.altLength} characters.`)
  })
  return faults
}
