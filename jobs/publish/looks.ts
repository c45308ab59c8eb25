import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { Deps } from '../deps.ts'
import type { NotClaimed } from '../ledger/claim.ts'
import { isSought } from '../ledger/under-way.ts'
import { Dispatch } from './dispatch.ts'
import type { SoughtDelivery } from './findings.ts'
import { beginLooks, look } from './reconcile.ts'

// Which looks begin. After a freeze of all workers or of the database, we must look for everything that was being
// sent, at once. So we limit how much we ask a network, for any number of workers (docs/decisions/032).

/** How many looks at one network may run in the whole installation. */
const LooksOfNetworkAtOnce = 10

/**
 * While others wait, an organisation with this many places leaves them this many of the last ones: its servers may be
 * slow.
 */
const LooksOfOrganisation = 3

const LookLock = 70_041 // the first half of a network's advisory lock; the second half is hashtext(its name)

/** The uncertain deliveries that a worker has been woken for. It looks for each in turn. */
export type Looks = Dispatch<SoughtDelivery>

/** Begin to look. One network gets at most half of the places. */
export function openLooks(deps: Deps): Looks {
  return new Dispatch({
    concurrency: 2 * LooksOfNetworkAtOnce,
    log: deps.log,
    claim: (deliveryIds) => beginSomeLooks(deps, deliveryIds),
    perform: (delivery: SoughtDelivery) => lookAtPace(deps, delivery),
  })
}

// We do not ask a network more often because it answers fast.
async function lookAtPace(deps: Deps, delivery: SoughtDelivery): Promise<void> {
  await Promise.all([look(deps, delivery), isAsked(deps, delivery.network) && sleep(deps.times.lookPaceMs)])
}

/**
 * Begin to look for those of these deliveries that are due for a look: the longest overdue first, one per channel. On a
 * network that we call, at most `LooksOfNetworkAtOnce` run, each organisation in turn. Returns by delivery.
 */
export function beginSomeLooks(deps: Deps, deliveryIds: string[]): Promise<Map<string, SoughtDelivery | NotClaimed>> {
  return deps.db.transaction(async (tx) => {
    const due = await lockNetworks(tx, askedIn(deps), deliveryIds)
    const locked = due.flatMap(({ id, isLocked }) => (isLocked ? [id] : []))
    const placed = await assignPlaces(tx, askedIn(deps), locked)
    const first = placed.flatMap(({ id, why }) => (why === null ? [id] : []))
    const begun: Map<string, SoughtDelivery> = await beginLooks(tx, deps, first)
    const others = new Map(placed.map(({ id, why }) => [id, why]))
    return new Map(
      due.map(({ id, isLocked }) => [id, begun.get(id) ?? (isLocked ? (others.get(id) ?? 'nothing') : 'locked')]),
    )
  })
}

/** Whether a look at `network` makes a call. We do not call the other networks, so they need no limit. */
export function isAsked({ networks }: Pick<Deps, 'networks'>, network: string): boolean {
  const { find, repeatedSend } = networks[network] ?? {}
  return find !== undefined && (repeatedSend === 'readable' || repeatedSend === 'two-step')
}

function askedIn(deps: Deps): SQL {
  const asked = Object.keys(deps.networks).filter((network) => isAsked(deps, network))
  return sql`${sql.param(asked)}::text[]`
}

// We do not wait for the lock: if we do not get it, we try again soon.
async function lockNetworks(tx: Tx, asked: SQL, ids: string[]): Promise<{ id: string; isLocked: boolean }[]> {
  const rows = await tx.execute<{ id: string; isLocked: boolean }>(sql`
    with due as materialized (
      select d.id, c.network from deliveries d join channels c on c.id = d.channel_id
      where d.id = any(${sql.param(ids)}::uuid[]) and ${isSought} and d.look_at <= now()
    ), locked as materialized (
      select network from (select distinct network from due where network = any(${asked})) n
      where pg_try_advisory_xact_lock(${LookLock}, hashtext(network))
    )
    select id, network <> all(${asked}) or network in (select network from locked) as "isLocked" from due`)
  return [...rows]
}

type Placed = { id: string; why: NotClaimed | null } // null: the look may begin

// A separate statement after the lock: it sees the looks that began before the lock. Looks of dead workers do not
// count.
async function assignPlaces(tx: Tx, asked: SQL, ids: string[]): Promise<Placed[]> {
  const rows = await tx.execute<Placed>(sql`
    with busy as materialized (
      select d.id, d.channel_id, d.organisation_id, c.network from deliveries d join channels c on c.id = d.channel_id
      where d.look_token is not null and d.lease_until > now() and d.lease_owner in (select owner from workers)
    ), due as materialized (
      select d.id, d.channel_id, d.organisation_id, d.look_at, c.network, c.network = any(${asked}) as is_asked,
        row_number() over (partition by d.channel_id order by d.look_at, d.id) as place
      from deliveries d join channels c on c.id = d.channel_id
      where d.id = any(${sql.param(ids)}::uuid[]) and d.id not in (select id from busy)
    ), first as materialized (
      select *, row_number() over (partition by network, organisation_id order by look_at, id) + (select count(*) from busy b
        where b.network = due.network and b.organisation_id = due.organisation_id) as place_of_organisation
      from due where is_asked and place = 1 and channel_id not in (select channel_id from busy)
    ), waiting as materialized (
      select distinct d.organisation_id, c.network from deliveries d join channels c on c.id = d.channel_id
      where d.state = 'uncertain' and d.look_at <= now() and d.channel_id not in (select channel_id from busy)
    ), ranked as materialized (
      select id, place_of_organisation > ${LooksOfOrganisation} and exists (select from waiting w
          where w.network = first.network and w.organisation_id <> first.organisation_id) as is_crowding,
        row_number() over (partition by network order by place_of_organisation, look_at, id)
          + (select count(*) from busy b where b.network = first.network) as place
      from first
    )
    select d.id, case when not d.is_asked then null when r.id is null then 'elsewhere'
      when r.place > ${LooksOfNetworkAtOnce} then 'full'
      when r.is_crowding and r.place > ${LooksOfNetworkAtOnce - LooksOfOrganisation} then 'elsewhere' end as why
    from due d left join ranked r using (id)`)
  return [...rows]
}
