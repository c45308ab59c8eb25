import { sql as drizzle } from 'drizzle-orm'
import postgres from 'postgres'
import { aCrowd, schedule } from '../crowd.ts'
import { openSite, type Stage } from '../stage.ts'

const Connections = 10 // as many as a worker's pool has
const InFlight = 50
const WarmUp = 1000

/**
 * The floor of publishing: claim, intend and settle of `count` deliveries on 200 channels, as three bare statements each
 * that commit, one delivery at a time on a channel. Returns deliveries per second.
 */
export async function bareStatements(stage: Stage, count: number): Promise<number> {
  await using site = await openSite(stage)
  const crowd = await aCrowd(site)
  await schedule(site.db, crowd, {
    count: WarmUp + count,
    from: new Date(Date.now() - 2000),
    spreadMs: 1000,
    withJobs: false,
  })
  const heads = await site.db.execute<{ id: string }>(drizzle`select distinct on (channel_id) id from deliveries`)
  const sql = postgres(site.databaseUrl, { max: Connections, onnotice: () => {} })
  try {
    await deliver(sql, channelsOf(heads, WarmUp))
    const begun = performance.now()
    await deliver(sql, channelsOf(heads, count))
    return (count / (performance.now() - begun)) * 1000
  } finally {
    await sql.end()
  }
}

function channelsOf(heads: { id: string }[], count: number): Channel[] {
  return heads.map(({ id }) => ({ deliveryId: id, left: count / heads.length }))
}

/** A channel, named by one of its deliveries, and how many it still has to deliver. */
type Channel = { deliveryId: string; left: number }

/** Deliver all that is left, `InFlight` at a time; a channel stands in line for its next one. */
async function deliver(sql: postgres.Sql, channels: Channel[]): Promise<void> {
  const line = channels.filter(({ left }) => left > 0)
  const lane = async () => {
    for (let channel = line.shift(); channel; channel = line.shift()) {
      await deliverOne(sql, channel.deliveryId)
      channel.left--
      if (channel.left > 0) line.push(channel)
    }
  }
  await Promise.all(Array.from({ length: InFlight }, lane))
}

async function deliverOne(sql: postgres.Sql, deliveryId: string): Promise<void> {
  const [claimed] = await sql.unsafe(claim, [deliveryId, 'bench'], { prepare: true })
  if (!claimed?.id) throw new Error('There was nothing to claim.')
  const intended = await sql.unsafe(intend, [claimed.id, claimed.leaseToken, '{"text":"hello"}'], { prepare: true })
  if (intended.length !== 1) throw new Error('The lease was gone.')
  const parameters = [claimed.id, claimed.publishKey, 'https://example.org/1', claimed.attemptNo]
  await sql.unsafe(settle, parameters, { prepare: true })
}

// The three statements of jobs/ledger/ledger.ts and jobs/ledger/settle.ts, one delivery each, as they were before claims came in
// batches. They stay as they are: the measure must not move with what is measured. (What is under way on a channel is what an
// index of its own says: which states these are has changed, what is read has not.)

const claim = `
  with channel as (
    select c.*, c.paused_until > now() as paused from channels c
    where c.id = (select d.channel_id from deliveries d where d.id = $1)
    for no key update
  ), head as (
    select d.id from deliveries d, channel c
    where d.channel_id = c.id and c.status = 'active' and c.paused is not true and d.state = 'scheduled'
      and d.due_at <= now() and d.ready_at <= now() and d.due_at >= now() - interval '24 hours'
      and not exists (
        select from deliveries u where u.channel_id = c.id and u.state in ('claimed', 'sending'))
    order by d.due_at, d.id limit 1
  ), claimed as (
    update deliveries d set
      state = 'claimed', lease_token = gen_random_uuid(), lease_owner = $2, lease_until = now() + interval '30 seconds',
      attempt_no = attempt_no + 1, next_attempt_at = null
    from head h where d.id = h.id and d.state = 'scheduled' and d.ready_at <= now()
    returning d.*
  ), attempt as (
    insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at)
    select gen_random_uuid(), d.organisation_id, d.id, d.attempt_no, $2, c.credential_version, now()
    from claimed d, channel c
  )
  select h.id as head, exists (
      select from deliveries l where l.channel_id = c.id and (l.state = 'scheduled' and l.due_at <= now() and l.ready_at <= now()
        and (c.status <> 'active' or l.due_at < now() - interval '24 hours'))) as "isLate",
    d.id, d.organisation_id as "organisationId", d.post_id as "postId", d.channel_id as "channelId",
    d.publish_key as "publishKey", d.prepared, d.maybe_out as "maybeOut", d.backoff_step as "backoffStep",
    d.attempt_no as "attemptNo", d.lease_token as "leaseToken",
    c.network, c.remote_account as "remoteAccount", c.credential, c.credential_version as "credentialVersion"
  from channel c left join head h on true left join claimed d on true`

const intend = `
  with intended as (
    update deliveries d set
      state = 'sending', prepared = $3, first_sent_at = coalesce(d.first_sent_at, now()),
      lease_until = now() + interval '30 seconds'
    from channels c
    where d.id = $1 and d.state = 'claimed' and d.lease_token = $2 and d.lease_until > now()
      and c.id = d.channel_id and c.status = 'active' and (c.paused_until is null or c.paused_until <= now())
    returning d.id, d.attempt_no
  )
  update attempts a set intended_at = now() from intended i where a.delivery_id = i.id and a.no = i.attempt_no
  returning a.id`

const settle = `
  with post as materialized (
    select p.id from posts p
    where p.id = (select o.post_id from deliveries o where o.id = $1) and true for no key update of p
  ), published as (
    update deliveries d set
      state = 'published', published_at = now(), evidence = 'answered', remote_id = $2, remote_url = $3,
      maybe_out = false, next_attempt_at = null, look_at = null, look_token = null, absent_at = null, error = null,
      lease_token = null, lease_owner = null, lease_until = null
    from post where d.id = $1 and d.post_id = post.id and d.state <> 'published'
    returning d.id
  ), overtaken as (
    update attempts a set ended_at = now(), outcome = 'lost', message = 'An earlier attempt proved to be out.'
    from published p where a.delivery_id = p.id and a.no > $4 and a.ended_at is null
  )
  update attempts a set ended_at = now(), outcome = 'published', message = null, status = null, reply = null
  from published s where a.delivery_id = s.id and a.no = $4 and a.ended_at is null`
