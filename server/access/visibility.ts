import { type SQL, sql } from 'drizzle-orm'
import type { Actor } from './credentials.ts'

/** Who makes the request: an actor, or an operator of the installation who works in an organisation. */
export type Viewer = Actor | { kind: 'operator'; id: string; name: string; organisationId: string }

// What an actor can see in its organisation. A token that was granted only some channels can't see the others:
// they look like channels that do not exist (docs/api/authentication.md, Access tokens).

/** SQL: the actor may see the channel whose id is `channelId`. */
export function reachesChannel(who: Viewer, channelId: SQL): SQL {
  const granted = channelsGrantedTo(who)
  return granted ? sql`${channelId} = any(${sql.param(granted)}::uuid[])` : sql`true`
}

/** SQL: the actor may see the post `p`: every channel of it is granted, or it has none and the actor's app made it. */
export function reachesPost(who: Viewer): SQL {
  const granted = channelsGrantedTo(who)
  if (!granted) return sql`true`
  return sql`
    not exists (select from deliveries d where d.post_id = p.id and d.channel_id <> all(${sql.param(granted)}::uuid[]))
    and (p.created_by_id = ${who.id} or exists (select from deliveries d where d.post_id = p.id))`
}

/**
 * SQL: the actor may see the row of `media`. A token that was granted only some channels sees what its own app added and
 * what stands in a post that it may see.
 */
export function reachesMedia(who: Viewer): SQL {
  if (!channelsGrantedTo(who)) return sql`true`
  return sql`(media.created_by_id = ${who.id}
    or exists (
      select from post_media u join posts p on p.id = u.post_id where u.media_id = media.id and ${reachesPost(who)})
    or media.id in (
      select unnest(own.media_ids) from deliveries own join posts p on p.id = own.post_id
      where own.organisation_id = ${who.organisationId} and own.media_ids is not null and ${reachesPost(who)}))`
}

/** Whether the actor may see a post as it was answered before, by the rule of `reachesPost`. */
export function mayRead(
  who: Viewer,
  { channelIds, createdBy }: { channelIds: string[]; createdBy: { id: string } },
): boolean {
  const granted = channelsGrantedTo(who)
  if (!granted) return true
  return channelIds.every((id) => granted.includes(id)) && (channelIds.length > 0 || createdBy.id === who.id)
}

/** The only channels that an actor may see. Null: it may see all. */
export function channelsGrantedTo(who: Viewer): string[] | null {
  return who.kind === 'app' ? who.channelIds : null
}
