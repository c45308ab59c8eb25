import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { channels as channelsTable } from '../../db/schema/channels.ts'
import { seal } from '../../db/sealed.ts'
import { endLater, opened, recordLeft } from '../../jobs/channels/revocations.ts'
import { type Channel, type ChannelRow, channelColumns, showChannel } from '../../jobs/ledger/channel-view.ts'
import { emitChannelEvent } from '../../jobs/ledger/events.ts'
import { lookOnceMore, releaseHeld } from '../../jobs/ledger/user-actions.ts'
import type { ConnectedAccount, Credential } from '../../jobs/networks/network.ts'
import { isAsked } from '../../jobs/publish/looks.ts'
import { credentialPlace } from '../../jobs/publish/network-session.ts'
import { times } from '../../jobs/timeouts-and-delays.ts'
import { type AuditAuthor, record } from '../access/audit.ts'
import type { Installation } from '../access/trpc.ts'
import { reachesChannel, type Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import { copyPicture } from './account-picture.ts'

// A channel as a row, and the credential that is sealed in it.

/** A channel of the organisation as callers see it. Throws `not_found`. */
export async function readChannel(
  { db, env, organisationId, actor }: Pick<Installation, 'db' | 'env'> & { organisationId: string; actor?: Viewer },
  id: string,
): Promise<Channel> {
  const [row] = await db.execute<ChannelRow>(
    sql`select ${channelColumns} from channels c where c.id = ${id} and c.organisation_id = ${organisationId}
      and ${actor ? reachesChannel(actor, sql`c.id`) : sql`true`}`,
  )
  if (!row) throw new Failure('not_found')
  return showChannel(row, env.appUrl)
}

type StoreContext = Pick<Installation, 'db' | 'env' | 'ring' | 'files' | 'outbound' | 'networks'> & {
  organisationId: string
}
type NewAccount = { network: string; account: ConnectedAccount; expectedId?: string | null }

/**
 * Store an account that was just connected, as a new channel or the one that it had before. Held posts are then sent.
 * `by`: who connected it, for the audit log.
 */
export async function storeChannel(
  ctx: StoreContext,
  { network, account, expectedId }: NewAccount,
  by: AuditAuthor,
): Promise<Channel> {
  const { organisationId } = ctx
  const pictureKey = await copyPicture(ctx, account.pictureUrl, ctx.organisationId)
  const { remoteAccount, name, url } = account
  const id = await ctx.db.transaction(async (tx) => {
    const former = await credentialOf(tx, { organisationId, network, remoteAccount })
    const id = await upsertChannel(tx, { organisationId, network, account, pictureKey })
    if (expectedId && expectedId !== id)
      throw new Failure('connect_failed', {
        detail:
          "You signed in to a different account than this channel's. Sign in to the right one, or connect this one as a new channel.",
      })
    const credential = seal(
      ctx.ring,
      credentialPlace({ channelId: id, organisationId }),
      JSON.stringify(account.credential),
    )
    const page = url ?? ctx.networks[network]?.pageOf?.(id) ?? null
    await tx.update(channelsTable).set({ credential, url: page }).where(eq(channelsTable.id, id))
    if (former) await endFormer(tx, ctx, { channelId: id, network, name }, { former, current: account.credential })
    await releaseHeld(tx, times, organisationId, id)
    if (isAsked(ctx, network)) await lookOnceMore(tx, organisationId, id)
    await emitChannelEvent(tx, organisationId, id, 'channel.connected')
    await record(tx, { organisationId, action: 'channel.connected', ...by, subject: { id, name } })
    return id
  })
  return readChannel(ctx, id)
}

type ConnectedChannel = {
  organisationId: string
  network: string
  account: ConnectedAccount
  pictureKey: string | null // null: a picture that there was stays
}

async function upsertChannel(tx: Tx, connected: ConnectedChannel): Promise<string> {
  const { organisationId, network, account, pictureKey } = connected
  const { remoteAccount, name, handle, url, limits } = account
  const shown = { name, handle, url, limits, status: 'active' as const, pausedUntil: null, connectedAt: sql`now()` }
  const [row] = await tx
    .insert(channelsTable)
    .values({ organisationId, network, remoteAccount, ...shown, pictureKey })
    .onConflictDoUpdate({
      target: [channelsTable.organisationId, channelsTable.network, channelsTable.remoteAccount],
      set: {
        ...shown,
        ...(pictureKey ? { pictureKey } : {}),
        credentialVersion: sql`${channelsTable.credentialVersion} + 1`,
      },
    })
    .returning({ id: channelsTable.id })
  return row!.id
}

async function credentialOf(
  tx: Tx,
  { organisationId, network, remoteAccount }: { organisationId: string; network: string; remoteAccount: string },
): Promise<Uint8Array | null> {
  const [channel] = await tx
    .select({ credential: channelsTable.credential })
    .from(channelsTable)
    .where(
      and(
        eq(channelsTable.organisationId, organisationId),
        eq(channelsTable.network, network),
        eq(channelsTable.remoteAccount, remoteAccount),
      ),
    )
    .for('no key update')
  return channel?.credential ?? null
}

// Later: what is being sent or checked with it finishes first.
async function endFormer(
  tx: Tx,
  { ring, networks, organisationId }: Pick<Installation, 'ring' | 'networks'> & { organisationId: string },
  { channelId, network, name }: { channelId: string; network: string; name: string },
  { former, current }: { former: Uint8Array; current: Credential },
): Promise<void> {
  const channel = { organisationId, channelId }
  const credential = opened(ring, channel, former)
  const { revoking } = networks[network] ?? {}
  if (!revoking) return
  if (!credential) return recordLeft(tx, { ...channel, name })
  if (revoking.isSame(credential, current)) return
  await endLater(tx, ring, channel, former, times.lookLeaseMs)
}
