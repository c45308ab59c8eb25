import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { limit } from '../../jobs/ledger/pause.ts'
import { wakeAtDue } from '../../jobs/ledger/wake-ups.ts'
import { aChannel, anOrganisation } from '../builders.ts'
import { networkNames } from './networks.ts'
import type { Site } from './stage.ts'

/** An organisation with many channels, its networks taking turns. `key` is an API key of it. */
export type Crowd = { organisationId: string; key: string; channelIds: string[] }

/** Posts to be made, each on one channel: due from `from` on, over `spreadMs`, one as far from the next or at random. */
export type Wanted = { count: number; from: Date; spreadMs: number; atRandom?: boolean; withJobs?: boolean }

const BatchSize = 10_000
const AtOnce = 100 // the cap of real networks (jobs/networks), which costs a lock even where it does not bind

export async function aCrowd({ db, secretKey }: Site, channels = 200): Promise<Crowd> {
  const { organisationId, key } = await anOrganisation(db)
  for (const network of networkNames) await limit(db, network, AtOnce)
  const channelIds: string[] = []
  for (let i = 0; i < channels; i++)
    channelIds.push(await aChannel(db, secretKey, { organisationId, network: networkNames[i % networkNames.length]! }))
  return { organisationId, key, channelIds }
}

/** Schedule posts on the channels in turn, with their wake-ups, and leave the tables as they are after a while. */
export async function schedule(db: Db, crowd: Crowd, wanted: Wanted): Promise<void> {
  for (let from = 0; from < wanted.count; from += BatchSize)
    await db.transaction(async (tx) => {
      const rows = await tx.execute<{ id: string }>(insertion(crowd, wanted, from))
      if (wanted.withJobs ?? true)
        await wakeAtDue(
          tx,
          [...rows].map(({ id }) => id),
        )
    })
  await db.execute(sql`vacuum analyze`)
  await db.execute(sql`checkpoint`) // or it falls into what is measured, or not, by chance
}

function insertion({ organisationId, channelIds }: Crowd, wanted: Wanted, from: number): SQL {
  const { count, spreadMs, atRandom = false } = wanted
  return sql`
    with wanted as materialized (
      select uuidv7() as id, uuidv7() as post_id,
        (${sql.param(channelIds)}::uuid[])[1 + n % ${channelIds.length}::int] as channel_id,
        ${wanted.from.toISOString()}::timestamptz + interval '1 ms' * ${spreadMs}::float8
          * case when ${atRandom} then random() else n / ${count}::float8 end as due_at
      from generate_series(${from}::int, ${Math.min(from + BatchSize, count) - 1}::int) n
    ), made as (
      insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name)
      select post_id, ${organisationId}, 'schedule', due_at, 'A post of some length, as people write them. #bench', 'SCHEDULED',
        'member', gen_random_uuid(), 'bench' from wanted
    )
    insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
    select id, ${organisationId}, post_id, channel_id, 0, 'scheduled', due_at, id from wanted
    returning id`
}
