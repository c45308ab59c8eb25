import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { isPaused } from './pause.ts'
import { isQueued, postView } from './post-view.ts'
import { UncertainAtMost, underWayOn } from './under-way.ts'

// What must always be true of the ledger, as far as the ledger alone can show it. Each invariant is a statement that
// finds the rows that break it, by delivery id or post id. PostgreSQL does the work, for any number of posts.

const IdsShown = 10

/** An invariant, the number of rows that break it, and the ids of the first few. */
export type Checked = { name: string; says: string; broken: number; ids: string[] }

/** Check every invariant, each on one snapshot of the ledger. */
export async function checkInvariants(tx: Tx): Promise<Checked[]> {
  await tx.execute(sql`set local statement_timeout = 0`)
  const checked: Checked[] = []
  for (const { name, says, broken } of invariants) {
    const [row] = await tx.execute<{ broken: number; ids: string[] }>(sql`
      with broken as materialized (${broken})
      select (select count(distinct id)::int from broken) as broken,
        array(select distinct id from broken order by id limit ${IdsShown}) as ids`)
    checked.push({ name, says, ...row! })
  }
  return checked
}

type Invariant = { name: string; says: string; broken: SQL }

const aMinuteAgo = sql`(now() - interval '60 seconds')`

const isKeptBack = sql`((c.paused_until > ${aMinuteAgo}) is true or ${isPaused})`

const isBehindAnother = sql`(${underWayOn(sql`d.channel_id`)} is not null or exists (
  select from deliveries u where u.channel_id = d.channel_id and u.state = 'scheduled' and u.ready_at <= now()
    and (u.due_at, u.id) < (d.due_at, d.id)))`

const isBehindSuspect = sql`(d.crash_count > 0 and exists (
  select from deliveries u where u.crash_count > 0 and u.state in ('claimed', 'sending')))`

const isAtCap = sql`exists (
  select from networks n where n.name = c.network and n.at_once <= (
    select count(*) from deliveries u join channels uc on uc.id = u.channel_id
    where uc.network = c.network and u.state in ('claimed', 'sending')))`

// Deliveries that were published at the first attempt, without an edit or a wait, and created before their due time.
const straight = sql`
  select d.id, d.channel_id, d.due_at, a.started_at, a.intended_at
  from deliveries d join attempts a on a.delivery_id = d.id and a.no = 1 join posts p on p.id = d.post_id
  where d.state = 'published' and d.evidence = 'answered' and d.attempt_no = 1 and p.version = 1
    and d.created_at < d.due_at - interval '10 seconds'`

const invariants: Invariant[] = [
  {
    name: 'nothing is lost',
    says: 'What was due more than 60 s ago has ended, is held for its channel, has a live lease, waits for its next attempt or look or behind its channel’s head, or is paused.',
    broken: sql`
      select d.id from deliveries d join channels c on c.id = d.channel_id
      where d.due_at < ${aMinuteAgo} and case d.state
        when 'held' then c.status = 'active'
        when 'claimed' then d.lease_until < ${aMinuteAgo}
        when 'sending' then d.lease_until < ${aMinuteAgo}
        when 'uncertain' then d.look_at < ${aMinuteAgo} and (d.lease_until is null or d.lease_until < ${aMinuteAgo})
        when 'scheduled' then d.ready_at < ${aMinuteAgo}
          and not (${isKeptBack} or ${isBehindAnother} or ${isBehindSuspect} or ${isAtCap})
        else false end`,
  },
  {
    name: 'published has evidence',
    says: 'A delivery is published exactly when it has an instant and evidence of it.',
    broken: sql`
      select d.id from deliveries d
      where (d.state = 'published') <> (d.published_at is not null and d.evidence is not null)`,
  },
  {
    name: 'what was never sent is not called published',
    says: 'Unless a person said so, what is published was sent by an attempt.',
    broken: sql`
      select d.id from deliveries d where d.state = 'published' and d.evidence <> 'person'
        and not exists (select from attempts a where a.delivery_id = d.id and a.intended_at is not null)`,
  },
  {
    name: 'what may be out is not called failed',
    says: 'What may be out there is neither draft, held, failed nor cancelled, and keeps what was sent.',
    broken: sql`
      select d.id from deliveries d
      where d.maybe_out and (d.prepared is null or d.state in ('draft', 'held', 'failed', 'cancelled'))`,
  },
  {
    name: 'nothing is early',
    says: 'No attempt that went straight through was sent before its due time.',
    broken: sql`select s.id from (${straight}) s where s.intended_at < s.due_at`,
  },
  {
    name: 'one is under way a channel',
    says: `No channel has two deliveries claimed or sending at once, or more than ${UncertainAtMost} uncertain.`,
    broken: sql`
      select d.id from (
        select id, state, count(*) over (partition by channel_id, state = 'uncertain') as beside
        from deliveries where state in ('claimed', 'sending', 'uncertain')) d
      where d.beside > case when d.state = 'uncertain' then ${UncertainAtMost} else 1 end`,
  },
  {
    name: 'a channel keeps its order',
    says: 'Deliveries of one channel that went straight through were claimed by the order of their hours.',
    broken: sql`
      select s.id from (
        select s.id, s.started_at,
          max(s.started_at) over (partition by s.channel_id order by s.due_at, s.id rows between unbounded preceding and 1 preceding) as latest
        from (${straight}) s) s
      where s.started_at < s.latest`,
  },
  {
    name: 'attempts are complete',
    says: 'Every attempt is there, and has an end and an outcome unless it is under way.',
    broken: sql`
      select a.delivery_id as id from attempts a join deliveries d on d.id = a.delivery_id
      where (a.ended_at is null) <> (a.outcome is null)
        or (a.ended_at is null and (d.state not in ('claimed', 'sending') or a.no <> d.attempt_no))
      union all
      select d.id from deliveries d
        left join (select delivery_id, count(*) as tries from attempts group by delivery_id) a on a.delivery_id = d.id
      where d.attempt_no <> coalesce(a.tries, 0)`,
  },
  {
    name: 'a remote id is one delivery’s',
    says: 'No two deliveries of a channel are proved by the same post at the network.',
    broken: sql`
      select d.id from deliveries d where d.remote_id is not null and exists (
        select from deliveries o where o.channel_id = d.channel_id and o.remote_id = d.remote_id and o.id <> d.id)`,
  },
  {
    name: 'a post’s status is kept',
    says: 'The status that is kept for lists and webhooks is what the deliveries say, but for what is being sent.',
    broken: sql`select p.id from posts p, ${postView} where p.told <> v.resting`,
  },
  {
    name: 'a channel lists its posts',
    says: 'Each post is in the list of every channel that it is on.',
    broken: sql`
      select coalesce(d.post_id, c.post_id) as id
      from (select post_id, channel_id, count(*) over (partition by post_id) = 1 as is_alone from deliveries) d
        join posts p on p.id = d.post_id full join channel_posts c on c.post_id = d.post_id and c.channel_id = d.channel_id
      where (c.organisation_id, c.is_alone, c.status, c.date, c.updated_at)
        is distinct from (p.organisation_id, d.is_alone, p.told, p.date, p.updated_at)`,
  },
  {
    name: 'a post is found by its texts',
    says: 'The search table has the texts and tags of each post, also its texts for single channels.',
    broken: sql`
      select p.id from posts p left join post_search s on s.post_id = p.id, post_search_row(p.id) r
      where (s.organisation_id, s.texts, s.tags) is distinct from (r.organisation_id, r.texts, r.tags)`,
  },
  {
    name: 'a time of a queue is one post’s',
    says: 'No two posts of a queue have the same time. Cancelled posts do not count.',
    broken: sql`
      select p.id from (
        select p.id, count(*) over (partition by p.queue_id, p.date) as beside
        from posts p where ${isQueued} and p.told <> 'CANCELLED') p
      where p.beside > 1`,
  },
]
