import { type SQL, sql } from 'drizzle-orm'

// How much of a channel may be under way at once: one delivery that is claimed or sending, and a few with an unknown
// outcome. These do not block the next ones, until so many mean that the network is in trouble (docs/decisions/031).

/** When this many deliveries of a channel are uncertain, we begin no other one. */
export const UncertainAtMost = 3

/**
 * SQL: why the channel of this id cannot begin another delivery: the state of the one that is claimed or sending, or
 * `uncertain` if the limit of uncertain ones is reached. Null: it can begin one.
 */
export function underWayOn(channelId: SQL): SQL {
  // `offset` finds the last one that may be uncertain. Each part reads few rows, by its own index.
  return sql`coalesce(
    (select u.state from deliveries u where u.channel_id = ${channelId} and u.state in ('claimed', 'sending') limit 1),
    (select u.state from deliveries u where u.channel_id = ${channelId} and u.state = 'uncertain' limit 1 offset ${sql.raw(String(UncertainAtMost - 1))}))`
}

/** SQL: we must look for the delivery `d`: its outcome is unknown, or it needs review and we look once more. */
export const isSought = sql`(d.state = 'uncertain' or (d.state = 'needs_review' and d.look_at is not null))`
