import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { ms } from '../ledger/ledger.ts'
import { wakeMails } from '../ledger/wake-ups.ts'
import type { Times } from '../timeouts-and-delays.ts'

const MailsAtOnce = 200

/**
 * Make mails of the notices that have waited long enough: one for each person, organisation and kind, with all notices
 * so far. People get at most one mail an hour about the channels of an organisation. Only one worker does this at a
 * time.
 */
export async function collectNotices(db: Db, times: Times): Promise<void> {
  const { postNoticeMs, otherNoticeMs, channelNoticeMs } = times
  await db.transaction(async (tx) => {
    const rows = await tx.execute<{ id: string }>(sql`
      with turn as materialized (select pg_try_advisory_xact_lock(hashtext('collect notices')) as is_ours),
      ready as (
        select n.account_id, n.organisation_id, n.kind from notices n, turn where turn.is_ours
        group by 1, 2, 3
        having min(n.created_at) < now() - case n.kind when 'posts' then ${ms(postNoticeMs)} else ${ms(otherNoticeMs)} end
          and not exists (
            select from mails m where n.kind = 'channels' and m.account_id = n.account_id and m.kind = 'channels'
              and m.organisation_id = n.organisation_id and m.created_at > now() - ${ms(channelNoticeMs)})
        limit ${MailsAtOnce}
      ), taken as (
        delete from notices n using ready r
        where n.account_id = r.account_id and n.organisation_id = r.organisation_id and n.kind = r.kind
        returning n.*
      )
      insert into mails (id, organisation_id, account_id, kind, subject_ids, next_attempt_at, give_up_at)
      select gen_random_uuid(), organisation_id, account_id, kind::text::mail_kind, array_agg(distinct subject_id),
        now(), now() + interval '24 hours'
      from taken group by organisation_id, account_id, kind
      returning id`)
    if (rows.length > 0)
      await wakeMails(
        tx,
        [...rows].map(({ id }) => id),
      )
  })
}
