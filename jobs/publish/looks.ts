import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { Deps } from '../deps.ts'
import type { NotClaimed } from '../ledger/claim.ts'
import { isSought } from '../ledger/under-way.ts'
import { Dispatch } from './dispatch.ts'
import type { SoughtDelivery } from './findings.ts'
import { beginLooks, look } from './reconcile.ts'

// Which readings begin. After a freeze of all workers or of the database everything that was being sent is to be looked for at
// once, so how much a network is asked is bounded, whatever the number of workers (docs/decisions/032).

/** How many readings of one network are under way in the whole installation. */
const LooksOfNetworkAtOnce = 10

/** While other organisations wait, one that has as many places leaves them as many of the last ones: its servers may be slow. */
const LooksOfOrganisation = 3

const LookLock = 70_041 // the first half of a network's advisory lock, the second is hashtext(its name)

/** The uncertain deliveries that a worker has been woken for: each is looked for in turn. */
export type Looks = Dispatch<SoughtDelivery>

/** Begin to look. Half of the places are for one network. */
export function openLooks(deps: Deps): Looks {
  return new Dispatch({
    concurrency: 2 * LooksOfNetworkAtOnce,
    log: deps.log,
    claim: (deliveryIds) => beginSomeLooks(deps, deliveryIds),
    perform: (delivery: SoughtDelivery) => lookAtPace(deps, delivery),
  })
}

// A network that answers at once is not asked more often for it.
async function lookAtPace(deps: Deps, delivery: SoughtDelivery): Promise<void> {
  await Promise.all([look(deps, delivery), isAsked(deps, delivery.network) && sleep(deps.times.lookPaceMs)])
}

/**
 * Begin to look for those of these deliveries whose time to look has come: the longest overdue first, one a channel, and of
 * each network that is asked over the wire at most `LooksOfNetworkAtOnce`, each organisation in turn. Answers by delivery.
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

/** Whether a reading of `network` is a call: of all others nothing is asked, so nothing need be spared. */
export function isAsked({ networks }: Pick<Deps, 'networks'>, network: string): boolean {
  const { find, repeatedSend } = networks[network] ?? {}
  return find !== undefined && (repeatedSend === 'readable' || repeatedSend === 'two-step')
}

function askedIn(deps: Deps): SQL {
  const asked = Object.keys(deps.networks).filter((network) => isAsked(deps, network))
  return sql`${sql.param(asked)}::text[]`
}

// Nobody waits for the lock: who does not get it tries again in a moment.
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

type Placed = { id: string; why: NotClaimed | null } // null: it may begin

// A statement of its own, after the lock: it sees what was begun before that. What a worker was reading that is gone by now is
// not being read.
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
