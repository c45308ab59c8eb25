import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { noticePosts } from '../notices.ts'
import { type ChannelRow, channelStatus, showChannel } from './channel-view.ts'
import { type Post, type PostRow, postColumnsAt, postView, postViewIn, showPost } from './post-view.ts'
import { callWebhooks } from './wake-ups.ts'

// The events that webhooks receive (docs/api/quickstart.md, Receive a webhook). We write them in the transaction of the
// change itself, only for the webhooks that listen at that time.

/** A post and its organisation. */
export type TheirPost = { organisationId: string; postId: string }

type PostChange = 'post.created' | 'post.updated' | 'post.cancelled'

/**
 * Record the status and the last change of an organisation's posts, for lists. Emit an event for a status that is
 * final or waits for a person, if we have not done so already. Call this after every change that a post shows, except
 * a claim, an intent and an unknown outcome.
 *
 * The caller locks the posts first. Otherwise two deliveries that settle at once would each see the other unfinished.
 */
export async function emit(tx: Tx, organisationId: string, postIds: string[]): Promise<void> {
  const posts = postIds.map((postId) => ({ organisationId, postId }))
  await emitAll(tx, posts)
}

/** Like `emit`, for posts that somebody changed: each also emits `post.updated`, whatever its status is. */
export async function emitUpdates(tx: Tx, organisationId: string, postIds: string[]): Promise<void> {
  if (postIds.length === 0) return
  const changed = sql`select distinct ${organisationId}::uuid, id from unnest(${sql.param(postIds)}::uuid[]) as changed (id)`
  await write(tx, [{ organisationId }], becoming(changed, 'post.updated'))
}

/** Like `emit`, for posts of several organisations. */
export async function emitAll(tx: Tx, posts: TheirPost[]): Promise<void> {
  if (posts.length === 0) return
  const organisationIds = sql.param(posts.map(({ organisationId }) => organisationId))
  const ids = sql.param(posts.map(({ postId }) => postId))
  await write(
    tx,
    posts,
    becoming(
      sql`select distinct organisation_id, id from unnest(${organisationIds}::uuid[], ${ids}::uuid[]) as changed (organisation_id, id)`,
      null,
    ),
    { shown: failing },
  )
}

/** Like `emit`, for one post. Also emits `change`, whatever the status is. Returns the post as callers see it now. */
export async function emitPostEvent(tx: Tx, post: TheirPost, change: PostChange | null = null): Promise<Post> {
  // Not a list of one: PostgreSQL would expect ten and plan again for each post. Planning takes longer than the rest.
  const one = sql`values (${post.organisationId}::uuid, ${post.postId}::uuid)`
  const [row] = await write(tx, [post], becoming(one, change), {
    shown: sql`${failing}, to_jsonb(s) as post from seen s`,
  })
  return showPost((row as { post: PostRow }).post)
}

/**
 * Create a post and emit its event, in one statement. Returns the post as callers see it. `making` are the CTEs that
 * insert it: `post`, `media` and `made` (its deliveries), each with all columns, and `woken` (their wake-ups).
 */
export async function emitNewPost(tx: Tx, organisationId: string, making: SQL): Promise<Post> {
  const made = sql`made`
  const happened = sql`${making},
    seen as (
      select p.organisation_id, ${postColumnsAt(sql`p.updated_at`)}
      from post p, ${postViewIn({ deliveries: made, media: sql`media` })}
    ), happened as (
      select organisation_id, 'post.created' as type, to_jsonb(s) as subject from seen s
    )`
  const shown = sql`, to_jsonb(s) as post, (select count(*) from woken) from seen s`
  const [row] = await write(tx, [{ organisationId }], happened, { shown, deliveries: made })
  return showPost((row as { post: PostRow }).post)
}

// A column: the posts that people get a notice about. Null for most statements, whose posts went out.
const failing = sql`, (
  select json_agg(json_build_object('organisationId', f.organisation_id, 'postId', f.id)) from seen f
  where f.is_news and f.status in ('PARTIALLY_PUBLISHED', 'FAILED', 'NEEDS_REVIEW')) as failing`

function becoming(posts: SQL, change: PostChange | null): SQL {
  return sql`
    seen as (
      select p.organisation_id, ${postColumnsAt(sql`greatest(p.updated_at, now()::timestamptz(3))`)},
        v.resting, v.resting is distinct from p.told as is_news
      from (${posts}) as one (organisation_id, id) join posts p using (organisation_id, id), ${postView}
    ), noted as (
      update posts p set told = seen.resting, updated_at = seen.updated_at from seen where p.id = seen.id
    ), happened as (
      select organisation_id, coalesce(${change}, 'post.' || lower(status)) as type, to_jsonb(s) - 'is_news' as subject
      from seen s
      where ${change}::text is not null
        or (is_news and status in ('PUBLISHED', 'PARTIALLY_PUBLISHED', 'FAILED', 'NEEDS_REVIEW', 'CANCELLED'))
    )`
}

/** Emit an event about a channel, without its credential. */
export async function emitChannelEvent(
  tx: Tx,
  organisationId: string,
  channelId: string,
  type: 'channel.connected' | 'channel.needs_reconnect',
): Promise<void> {
  await write(
    tx,
    [{ organisationId }],
    sql`
    happened as (
      select c.organisation_id, ${type}::text as type,
        to_jsonb(c) - 'credential' - 'remote_account' || jsonb_build_object('shown', ${channelStatus}) as subject
      from channels c
      where c.id = ${channelId} and c.organisation_id = ${organisationId}
    )`,
  )
}

/** Send a webhook a test event. Returns the id of its delivery. */
export async function emitTestEvent(tx: Tx, organisationId: string, webhookId: string): Promise<string> {
  const [row] = await tx.execute<{ id: string }>(sql`
    with event as (
      insert into events (id, organisation_id, type, subject)
      values (gen_random_uuid(), ${organisationId}, 'webhook.test', json_build_object('webhookId', ${webhookId}::text))
      returning id, organisation_id
    )
    insert into webhook_deliveries (id, organisation_id, webhook_id, event_id, next_attempt_at)
    select gen_random_uuid(), e.organisation_id, ${webhookId}, e.id, now() from event e returning id`)
  await callWebhooks(tx, [webhookId])
  return row!.id
}

/** The body of an event as webhooks get it. `subject` is what `emit` stored. */
export function bodyOf(event: { type: string; at: string; subject: unknown }, appUrl: string): string {
  const { type, at, subject } = event
  const data = type.startsWith('post.')
    ? showPost(subject as PostRow)
    : type.startsWith('channel.')
      ? showChannel(subject as ChannelRow, appUrl)
      : subject
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data })
}

/**
 * Write the rows (organisation_id, type, subject) of the CTE `happened` as events, each with a delivery to every
 * webhook that listens. We wait for a webhook that is being deleted and leave it out: it must not make a post fail.
 * `shown` ends the statement: what to return, if anything. `deliveries` names the posts' deliveries, if the statement
 * inserts them.
 */
async function write(
  tx: Tx,
  of: { organisationId: string }[],
  happened: SQL,
  { shown = sql``, deliveries = sql`deliveries` } = {},
): Promise<object[]> {
  const organisationIds = of.map(({ organisationId }) => organisationId)
  const rows = await tx.execute<{ webhookIds: string[]; failing?: TheirPost[] | null }>(sql`
    with ${happened}, listening as materialized (
      select w.* from webhooks w where w.organisation_id = any(${sql.param(organisationIds)}::uuid[]) and w.off_since is null
      order by w.id for key share
    ), told as (
      select gen_random_uuid() as id, h.organisation_id, h.type, h.subject, listeners.ids from happened h, lateral (
        select array_agg(w.id) as ids from listening w where w.organisation_id = h.organisation_id and h.type = any(w.events) and ${maySee(deliveries)}
      ) listeners where listeners.ids is not null
    ), events as (
      insert into events (id, organisation_id, type, subject) select id, organisation_id, type, subject from told
    ), due as (
      insert into webhook_deliveries (id, organisation_id, webhook_id, event_id, next_attempt_at)
      select gen_random_uuid(), organisation_id, unnest(ids), id, now() from told
      returning webhook_id
    )
    select (select coalesce(json_agg(webhook_id), '[]') from due) as "webhookIds"${shown}`)
  await callWebhooks(tx, rows[0]?.webhookIds ?? [])
  await noticePosts(tx, rows[0]?.failing ?? [])
  return [...rows]
}

// A webhook `w` that was created with a token receives an event `h` only if the token may read its subject.
function maySee(deliveries: SQL): SQL {
  const ofPost = sql`from ${deliveries} d where d.post_id = (h.subject->>'id')::uuid`
  return sql`(w.grant_id is null or exists (
  select from grants g where g.id = w.grant_id and g.organisation_id = w.organisation_id and g.revoked_at is null and (g.channel_ids is null or case
    when h.type like 'channel.%' then (h.subject->>'id')::uuid = any(g.channel_ids)
    else not exists (select ${ofPost} and d.channel_id <> all(g.channel_ids))
      and (h.subject->>'created_by_id' = w.app_id::text or exists (select ${ofPost}))
    end)))`
}
