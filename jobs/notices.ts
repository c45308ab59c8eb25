import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'

// What we tell people by mail. It is noted in the transaction in which it happens, and jobs/mail/collect.ts makes mails
// of it. Each function only inserts, so it waits for no lock. Only verified addresses get notices: anyone can sign up with
// somebody else's address.

/** Posts need attention: for the members who made them. Those of keys, apps and former members are for the owners. */
export async function noticePosts(tx: Tx, posts: { organisationId: string; postId: string }[]): Promise<void> {
  if (posts.length === 0) return
  const organisationIds = sql.param(posts.map(({ organisationId }) => organisationId))
  const ids = sql.param(posts.map(({ postId }) => postId))
  const subjects = sql`
    select p.organisation_id, p.id, p.created_by_kind, p.created_by_id
    from unnest(${organisationIds}::uuid[], ${ids}::uuid[]) as o (organisation_id, id) join posts p using (organisation_id, id)`
  await note(tx, 'posts', subjects, isMakerOrOwner)
}

/** A channel must be reconnected: for owners and admins, who can do it. */
export async function noticeChannel(tx: Tx, of: { organisationId: string; channelId: string }): Promise<void> {
  const subject = sql`select ${of.organisationId}::uuid as organisation_id, ${of.channelId}::uuid as id`
  await note(tx, 'channels', subject, sql`m.role in ('owner', 'admin')`)
}

/** A webhook was switched off: for the member who made it, or the owners. */
export async function noticeWebhook(tx: Tx, organisationId: string, webhookId: string): Promise<void> {
  const subject = sql`
    select w.organisation_id, w.id, w.created_by_kind, w.created_by_id from webhooks w
    where w.id = ${webhookId} and w.organisation_id = ${organisationId}`
  await note(tx, 'webhooks', subject, isMakerOrOwner)
}

const isMaker = sql`s.created_by_kind = 'member' and exists (
  select from memberships k where k.organisation_id = s.organisation_id and k.account_id = s.created_by_id)`
const isMakerOrOwner = sql`case when ${isMaker} then m.account_id = s.created_by_id else m.role = 'owner' end`

async function note(tx: Tx, kind: 'posts' | 'channels' | 'webhooks', subjects: SQL, isFor: SQL): Promise<void> {
  await tx.execute(sql`
    insert into notices (id, organisation_id, account_id, kind, subject_id)
    select gen_random_uuid(), s.organisation_id, a.id, ${kind}, s.id
    from (${subjects}) s join memberships m on m.organisation_id = s.organisation_id join accounts a on a.id = m.account_id
    where a.email_verified_at is not null and a.wants_notices and ${isFor}`)
}
