import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { isSameDatabase } from '../../jobs/ledger/database-identity.ts'
import { limit, pause, type Reach, resume } from '../../jobs/ledger/pause.ts'
import { putListsRight, putPastDueBeforePerson } from '../../jobs/ledger/restore.ts'
import { type Operator, recordByOperator } from '../access/audit.ts'
import type { Installation } from '../access/trpc.ts'
import { Failure } from '../errors.ts'

type PauseContext = Pick<Installation, 'db' | 'networks'>

/** Stop sending within `reach`. Returns since when. Throws `not_found`. */
export function stopSending(
  { db, networks }: PauseContext,
  operator: Operator,
  reach: Reach,
): Promise<{ paused: Reach; since: Date }> {
  return db.transaction(async (tx) => {
    const channel = await requireReach(tx, networks, reach)
    const since = await pause(tx, reach)
    if (channel && !channel.isPaused)
      await recordByOperator(tx, operator, { ...auditFieldsOf(channel), action: 'channel.paused' })
    return { paused: reach, since }
  })
}

/** What is still paused. `organisations`: those that are suspended. */
export type Paused = { all: boolean; networks: string[]; channels: number; organisations: number }

/** `channelsDue`: how many have due posts. `within`: the wider pause that still stops what was resumed. */
export type Resumed = { resumed: Reach; channelsDue: number; stillPaused: Paused; within: 'all' | 'network' | null }

/** Resume sending within `reach`. Throws `not_found`, and `unprocessable` after a restore without `after-restore`. */
export function goOnSending({ db, networks }: PauseContext, operator: Operator, reach: Reach): Promise<Resumed> {
  return db.transaction(async (tx) => {
    const channel = await requireReach(tx, networks, reach)
    if (reach.scope === 'all') {
      await requireNoticed(tx)
      await putPastDueBeforePerson(tx) // what came in since a restore was noticed
      await putListsRight(tx)
    }
    const channelsDue = await resume(tx, reach)
    if (channel?.isPaused)
      await recordByOperator(tx, operator, { ...auditFieldsOf(channel), action: 'channel.resumed' })
    const stillPaused = await pausedIn(tx)
    const isNetworkPaused = channel !== null && stillPaused.networks.includes(channel.network)
    return {
      resumed: reach,
      channelsDue,
      stillPaused,
      within: stillPaused.all ? 'all' : isNetworkPaused ? 'network' : null,
    }
  })
}

// Locks the installation before any post, as in jobs/ledger/restore.ts.
async function requireNoticed(tx: Tx): Promise<void> {
  await tx.execute(sql`select from installation for no key update`)
  const [row] = await tx.execute<{ isSame: boolean }>(sql`select ${isSameDatabase} as "isSame" from installation i`)
  if (row && !row.isSame)
    throw new Failure('unprocessable', {
      detail:
        'This database was restored or failed over. Run `npm run admin -- after-restore` first, look at what needs a decision, then resume.',
    })
}

/** Limit how many posts all workers together send to a network at once. Null: no limit. Throws `not_found`. */
export function limitNetwork(
  { db, networks }: PauseContext,
  network: string,
  atOnce: number | null,
): Promise<{ network: string; atOnce: number | null }> {
  return db.transaction(async (tx) => {
    await requireReach(tx, networks, { scope: 'network', name: network })
    await limit(tx, network, atOnce)
    return { network, atOnce }
  })
}

type ChannelFound = { id: string; name: string; network: string; organisationId: string; isPaused: boolean }

function auditFieldsOf({ id, name, organisationId }: ChannelFound) {
  return { organisationId, subject: { id, name } }
}

// The channel, locked, if `reach` is a channel.
async function requireReach(tx: Tx, networks: Installation['networks'], reach: Reach): Promise<ChannelFound | null> {
  if (reach.scope === 'all') return null
  if (reach.scope === 'network') {
    const [row] = await tx.execute<{ isKnown: boolean }>(sql`
      select exists (select from networks where name = ${reach.name})
        or exists (select from channels where network = ${reach.name}) as "isKnown"`)
    if (!row!.isKnown && !Object.hasOwn(networks, reach.name))
      throw new Failure('not_found', { detail: `Network ${reach.name} not found.` })
    return null
  }
  const [channel] = await tx.execute<ChannelFound>(sql`
    select id, name, network, organisation_id as "organisationId", paused_at is not null as "isPaused" from channels
    where id = ${reach.id} for no key update`)
  if (!channel) throw new Failure('not_found', { detail: 'Channel not found.' })
  return channel
}

async function pausedIn(tx: Tx): Promise<Paused> {
  const [row] = await tx.execute<Paused>(sql`
    select exists (select from installation where paused_at is not null or restored_at is not null) as all,
      array(select name from networks where paused_at is not null order by name) as networks,
      (select count(*)::int from channels where paused_at is not null) as channels,
      (select count(*)::int from organisations where suspended_at is not null) as organisations`)
  return row!
}
