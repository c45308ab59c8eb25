import { and, eq, gt, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { channels as channelsTable, connectFlows } from '../../db/schema/channels.ts'
import { open, seal } from '../../db/sealed.ts'
import { leaveWhileConnecting } from '../../jobs/channels/revocations.ts'
import {
  type Channel,
  type ChannelRow,
  channelColumns,
  channelStatus,
  showChannel,
} from '../../jobs/ledger/channel-view.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { cancelUnsent, holdUnsent } from '../../jobs/ledger/user-actions.ts'
import { type ConnectAccess, ConnectError, type Network, type Preview } from '../../jobs/networks/network.ts'
import { byCaller, recordBy } from '../access/audit.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { digest, mintToken } from '../access/secrets.ts'
import { type Installation, needs, owner, router } from '../access/trpc.ts'
import { reachesChannel } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'
import { ById } from '../forms.ts'
import { registrationsOf } from './client-registrations.ts'
import { ConnectChannel, Disconnect, FinishConnect, ListChannels } from './forms.ts'
import { type ChannelCounts, countsOf, knownOf } from './reconnecting.ts'
import { readChannel, storeChannel } from './rows.ts'

const FlowMinutes = 30

export const channels = router({
  list: needs('channels:read')
    .input(ListChannels)
    .query(async ({ ctx: { db, env, organisationId, actor }, input }): Promise<Page<Channel>> => {
      const { network, status, limit } = input
      const after = positionOf(input.cursor)
      const rows = await db.execute<ChannelRow>(sql`
        select ${channelColumns} from channels c where c.organisation_id = ${organisationId} and ${reachesChannel(actor, sql`c.id`)}
          and ${status ? sql`${channelStatus} = ${status.toLowerCase()}` : sql`c.status <> 'disconnected'`}
          ${network ? sql`and c.network = ${network}` : sql``}
          ${after ? sql`and (c.created_at, c.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
        order by c.created_at, c.id limit ${limit + 1}`)
      return pageOf(
        [...rows],
        limit,
        (row) => showChannel(row, env.appUrl),
        (row) => [iso(row.created_at), row.id],
      )
    }),

  get: needs('channels:read')
    .input(ById)
    .query(({ ctx, input: { id } }) => readChannel(ctx, id)),

  /** How many posts a disconnect of the channel would touch. */
  unsent: needs('channels:read')
    .input(ById)
    .query(async ({ ctx, input: { id } }): Promise<number> => {
      await readChannel(ctx, id)
      const [row] = await ctx.db.execute<{ count: number }>(sql`
        select count(*)::int as count from deliveries where channel_id = ${id} and organisation_id = ${ctx.organisationId}
          and state in ('draft', 'scheduled', 'claimed', 'held')`)
      return row!.count
    }),

  /** How many posts of the channel are being sent, and what happened to others since it was connected. */
  counts: needs('channels:read')
    .input(ById)
    .query(async ({ ctx, input: { id } }): Promise<ChannelCounts> => {
      await readChannel(ctx, id)
      return countsOf(ctx.db, ctx.organisationId, id)
    }),

  /** The fields of the channel's form whose values we already know, for reconnecting. */
  known: owner.input(ById).query(({ ctx, input: { id } }) => knownOf(ctx, id)),

  /** The networks that a channel can be connected to, for the page. */
  networks: needs('channels:read').query(({ ctx: { networks } }) =>
    Object.entries(networks).map(([key, { name, connecting }]) => ({ key, name, by: connecting.by })),
  ),

  /** How each network shows a post, by the network's key: for the composer. */
  previews: needs('channels:read').query(({ ctx: { networks } }): Record<string, Preview> => {
    const declared = Object.entries(networks).flatMap(([key, { preview }]) =>
      preview ? [[key, preview] as const] : [],
    )
    return Object.fromEntries(declared)
  }),

  /**
   * Connect a channel, or begin to: `channel` when what was typed is enough, `url` when the person must go to the
   * network's consent page first and come back through `finish`.
   */
  connect: owner
    .input(ConnectChannel)
    .mutation(async ({ ctx, input }): Promise<{ channel: Channel } | { url: string }> => {
      const network = Object.hasOwn(ctx.networks, input.network) ? ctx.networks[input.network] : undefined
      if (!network) throw new Failure('not_found')
      const known = input.channelId && (await accountOf(ctx.db, ctx.organisationId, input.channelId))
      if (network.connecting.by === 'redirect') return beginFlow(ctx, network, input)
      const { connect } = network.connecting
      const account = await orConnectFailed(() => connect(input.input, ctx.outbound, known))
      return {
        channel: await storeChannel(
          ctx,
          { network: input.network, account, expectedId: input.channelId ?? null },
          byCaller(ctx),
        ),
      }
    }),

  /** Return from a network's consent page. The flow can be used only once, even if it fails. */
  finish: owner.input(FinishConnect).mutation(async ({ ctx, input }): Promise<Channel> => {
    const [flow] = await ctx.db
      .delete(connectFlows)
      .where(
        and(
          eq(connectFlows.stateHash, digest(input.state)),
          eq(connectFlows.organisationId, ctx.organisationId),
          eq(connectFlows.accountId, ctx.actor.id),
          gt(connectFlows.expiresAt, sql`now()`),
        ),
      )
      .returning()
    const connecting = flow && ctx.networks[flow.network]?.connecting
    if (!flow || connecting?.by !== 'redirect')
      throw new Failure('connect_failed', {
        detail: 'This connection was started too long ago, or in another browser. Start again.',
      })
    const kept: unknown = JSON.parse(open(ctx.ring, flowPlace(flow.id, ctx.organisationId), flow.sealed))
    const { server = null, code = null, error = null, iss = null } = input
    const answer = { server, code, error, iss }
    await leaveWhileConnecting(ctx.db, { organisationId: ctx.organisationId, network: flow.network })
    const account = await orConnectFailed(() => connecting.finish(kept, answer, accessOf(ctx, flow.network)))
    return storeChannel(ctx, { network: flow.network, account, expectedId: flow.channelId }, byCaller(ctx))
  }),

  /** Disconnect. `unsent` says what to do with unsent posts. Posts that are being sent finish, then the reaper erases the credential. */
  disconnect: owner.input(Disconnect).mutation(({ ctx, input: { id, unsent: choice } }) =>
    ctx.db.transaction(async (tx) => {
      const { organisationId } = ctx
      const [channel] = await tx
        .select({ status: channelsTable.status, name: channelsTable.name })
        .from(channelsTable)
        .where(and(eq(channelsTable.id, id), eq(channelsTable.organisationId, organisationId)))
        .for('update') // waits for posts that are being made on it (rules.ts), which do not keep a claim waiting
      if (!channel || channel.status === 'disconnected') throw new Failure('not_found')
      await tx.update(channelsTable).set({ status: 'disconnected' }).where(eq(channelsTable.id, id))
      const posts = await (choice === 'cancel' ? cancelUnsent : holdUnsent)(tx, organisationId, id)
      const subject = { id, name: channel.name }
      await recordBy(tx, ctx, { action: 'channel.disconnected', subject, detail: { unsent: choice, posts } })
    }),
  ),
})

/** The network's own id of a channel's account. Throws `not_found`. */
async function accountOf(db: Db, organisationId: string, id: string): Promise<string> {
  const [row] = await db
    .select({ account: channelsTable.remoteAccount })
    .from(channelsTable)
    .where(and(eq(channelsTable.id, id), eq(channelsTable.organisationId, organisationId)))
  if (!row) throw new Failure('not_found')
  return row.account
}

async function beginFlow(
  ctx: Installation & { organisationId: string; actor: { id: string } },
  network: Network,
  input: { network: string; channelId?: string | undefined; input: Record<string, string> },
): Promise<{ url: string }> {
  const { connecting } = network
  if (connecting.by !== 'redirect') throw new Error(`${network.name} has no consent page`)
  const state = mintToken()
  const request = { redirectUri: `${ctx.env.appUrl}/channels/connected`, state }
  const { url, kept } = await orConnectFailed(() =>
    connecting.begin(input.input, request, accessOf(ctx, input.network)),
  )
  const [flow] = await ctx.db
    .insert(connectFlows)
    .values({
      organisationId: ctx.organisationId,
      accountId: ctx.actor.id,
      network: input.network,
      stateHash: digest(state),
      sealed: new Uint8Array(),
      channelId: input.channelId ?? null,
      expiresAt: sql`now() + make_interval(mins => ${FlowMinutes})`,
    })
    .returning({ id: connectFlows.id })
  const sealed = seal(ctx.ring, flowPlace(flow!.id, ctx.organisationId), JSON.stringify(kept))
  await ctx.db.update(connectFlows).set({ sealed }).where(eq(connectFlows.id, flow!.id))
  return { url }
}

function accessOf(ctx: Installation & { organisationId: string }, network: string): ConnectAccess {
  return { outbound: ctx.outbound, registrations: registrationsOf(ctx, network) }
}

function flowPlace(id: string, organisationId: string) {
  return { table: 'connect_flows', id, organisationId, field: 'sealed' }
}

async function orConnectFailed<T>(connect: () => Promise<T>): Promise<T> {
  try {
    return await connect()
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    const errors: KnownFault[] = error.field
      ? [{ path: `input.${error.field}`, code: 'connect_failed', message: error.message }]
      : []
    throw new Failure('connect_failed', { detail: error.message, errors, cause: error })
  }
}
