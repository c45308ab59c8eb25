import { and, eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { channels } from '../../db/schema/channels.ts'
import { opened } from '../../jobs/channels/revocations.ts'
import { ms } from '../../jobs/ledger/ledger.ts'
import { times } from '../../jobs/timeouts-and-delays.ts'
import type { Installation } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { registrationsOf } from './client-registrations.ts'

// What we already know when a person reconnects a channel, and what we show them afterwards.

type OrganisationContext = Pick<Installation, 'db' | 'ring' | 'networks'> & { organisationId: string }

/** Fields of the channel's form whose values are known, the server with its scheme among them. Throws `not_found`. */
export async function knownOf(ctx: OrganisationContext, id: string): Promise<Record<string, string>> {
  const { db, ring, networks, organisationId } = ctx
  const [channel] = await db
    .select({ network: channels.network, remoteAccount: channels.remoteAccount, credential: channels.credential })
    .from(channels)
    .where(and(eq(channels.id, id), eq(channels.organisationId, organisationId)))
  if (!channel) throw new Failure('not_found')
  const { network, remoteAccount } = channel
  const credential = channel.credential && opened(ring, { organisationId, channelId: id }, channel.credential)
  const servers = await registrationsOf(ctx, network).servers()
  return networks[network]?.connecting.known?.({ credential, remoteAccount }, servers) ?? {}
}

/**
 * Posts of a channel: `now` being sent, `sent` since it was connected, `later` scheduled, and those that wait for a
 * `person`: posts that were due more than a day ago are not sent automatically.
 */
export type ChannelCounts = { now: number; sent: number; later: number; person: number }

export async function countsOf(db: Db, organisationId: string, channelId: string): Promise<ChannelCounts> {
  const isMissed = sql`(d.state = 'scheduled' and d.due_at < now() - ${ms(times.giveUpMs)})`
  const [row] = await db.execute<ChannelCounts>(sql`
    select
      count(*) filter (where (d.state in ('claimed', 'sending', 'uncertain') or d.state = 'scheduled' and d.due_at <= now()) and not ${isMissed})::int as now,
      count(*) filter (where d.state = 'published')::int as sent,
      count(*) filter (where d.state = 'scheduled' and d.due_at > now())::int as later,
      count(*) filter (where d.state = 'needs_review' or ${isMissed})::int as person
    from deliveries d join channels c on c.id = d.channel_id
    where d.channel_id = ${channelId} and d.organisation_id = ${organisationId}
      and (d.state in ('scheduled', 'claimed', 'sending', 'uncertain', 'needs_review')
        or d.state = 'published' and d.published_at >= c.connected_at)`)
  return row!
}
