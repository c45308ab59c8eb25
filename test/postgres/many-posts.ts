import { type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import { accounts } from '../../db/schema/accounts.ts'

// Organisations as big as some are: years of posts on many channels, most of them out, a few of each other status.

// The version 7 of RFC 9562, one millisecond after another, also for PostgreSQL before 18.
const idOf = (n: SQL) => {
  const [ms, random] = [sql`lpad(to_hex(1.7e12::bigint + ${n}), 12, '0')`, sql`gen_random_uuid()::text`]
  return sql`(substr(${ms}, 1, 8) || '-' || substr(${ms}, 9) || '-7' || substr(${random}, 16))::uuid`
}

/** What a post of a status has as deliveries: the first of them on its first channel, the last on all others. */
const statesOf = {
  PUBLISHED: ['published'],
  SCHEDULED: ['scheduled'],
  FAILED: ['failed'],
  PARTIALLY_PUBLISHED: ['published', 'failed'],
  PUBLISHING: ['published', 'scheduled'],
  HELD: ['held'],
  NEEDS_REVIEW: ['needs_review'],
  CANCELLED: ['cancelled'],
  DRAFT: ['draft'],
} as const

/** Of a hundred posts in a row, how many have which status; the rest is published. */
const shares = {
  SCHEDULED: 5,
  DRAFT: 2,
  FAILED: 1,
  PARTIALLY_PUBLISHED: 1,
  PUBLISHING: 1,
  HELD: 1,
  NEEDS_REVIEW: 1,
  CANCELLED: 1,
}

/**
 * Fill an organisation with `count` posts an hour apart, the last fifth of them yet to come; each on one to three of its
 * channels, of which `channelCount` are made. What is yet to come was written as long ago. Ten posts are under way. Each third
 * draft has neither date nor channel: an app made those.
 */
export async function fillOrganisation(
  db: Db,
  { organisationId, count, channelCount }: { organisationId: string; count: number; channelCount: number },
): Promise<{ channelIds: string[]; appId: string }> {
  const appId = uuidv7()
  const channelIds = Array.from({ length: channelCount }, () => uuidv7())
  const limits = { textLength: 500, textUnit: 'characters' as const, mediaCount: 4, mediaTypes: ['image/png'] }
  // Columns by name, for a version before this one may be filled too.
  await db.execute(sql`
    insert into channels (id, organisation_id, network, remote_account, name, limits, credential)
    select id, ${organisationId}, 'feed', id, 'Channel ' || n - 1, ${JSON.stringify(limits)}::jsonb, ''
    from unnest(${sql.param(channelIds)}::uuid[]) with ordinality as made (id, n)`)
  const [maker] = await db.select({ id: accounts.id }).from(accounts).limit(1)
  const statuses = Object.entries(shares).flatMap(([status, share]) => Array<string>(share).fill(status))
  const ofHundred = [...statuses, ...Array<string>(100 - statuses.length).fill('PUBLISHED')]
  const [shuffled, states] = [sql.param(ofHundred.map((_, i) => ofHundred[(i * 37) % 100]!)), JSON.stringify(statesOf)]
  for (let from = 0; from < count; from += 5000)
    await db.execute(sql`
      with wanted as materialized (
        select n, ${idOf(sql`n`)} as id, (${shuffled}::text[])[1 + n % 100] as status,
          case when (${shuffled}::text[])[1 + n % 100] <> 'DRAFT' or n % 3 > 0
            then date_trunc('milliseconds', now()) + interval '1 hour' * (n - ${count * 0.8}::float8) end as date,
          1 + n / 7 % 3 as channels
        from generate_series(${from}::int, ${Math.min(from + 5000, count) - 1}::int) n
      ), made as (
        insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name, updated_at)
        select id, ${organisationId}, case when status = 'DRAFT' then 'draft' else 'schedule' end::post_type, date,
          'Post ' || n, status, 'member', case when status = 'DRAFT' and n % 3 = 0 then ${appId}::uuid else ${maker!.id} end, 'Ada',
          case when date < now() then date else now() - interval '1 hour' * (n * 7919 % ${count / 5}::int) end
        from wanted
      ), sent as (
      insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key, published_at, evidence, attempt_no)
      select gen_random_uuid(), ${organisationId}, w.id, (${sql.param(channelIds)}::uuid[])[1 + (w.n * 13 + place * 7) % ${channelCount}::int],
        place, s.state::delivery_state, w.date, w.id::text || place,
        case when s.state = 'published' then w.date end, case when s.state = 'published' then 'answered'::evidence end,
        case when s.state = 'published' then 1 else 0 end
      from wanted w, generate_series(0, case when w.status in ('PARTIALLY_PUBLISHED', 'PUBLISHING') then 1 else w.channels - 1 end) place,
        lateral (select (${states}::jsonb -> w.status) ->> (case when place = 0 then 0 else -1 end) as state) s
      where w.status <> 'DRAFT' or w.n % 3 > 0
      returning id, published_at)
      insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at, intended_at, ended_at, outcome)
      select gen_random_uuid(), ${organisationId}, id, 1, 'a worker', 1, published_at, published_at, published_at, 'published'
      from sent where published_at is not null`)
  await beginSome(db, organisationId)
  await db.execute(sql`vacuum analyze`)
  return { channelIds, appId }
}

// As a worker leaves them that is at work.
async function beginSome(db: Db, organisationId: string): Promise<void> {
  await db.execute(sql`
    with begun as (
      update deliveries d set state = 'uncertain', maybe_out = true, prepared = '{}', look_at = now() + interval '1 hour', attempt_no = 1
      from (
        select d.id from deliveries d join posts p on p.id = d.post_id
        where d.organisation_id = ${organisationId} and p.told = 'SCHEDULED' order by p.date limit 10) chosen
      where d.id = chosen.id returning d.id, d.organisation_id
    )
    insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at, intended_at, ended_at, outcome)
    select gen_random_uuid(), organisation_id, id, 1, 'a worker', 1, now(), now(), now(), 'unknown' from begun`)
}
