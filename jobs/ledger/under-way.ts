import { type SQL, sql } from 'drizzle-orm'

// How much of a channel may be under way at once: one delivery claimed or sending, and a few whose outcome is unknown. These
// hold up nothing behind them, until there are so many that the network must be in trouble (docs/decisions/031).

/** When this many deliveries of a channel are uncertain, it begins no other. */
export const UncertainAtMost = 3

/**
 * SQL: what keeps the channel of this id from beginning another delivery: the state of the one that is claimed or sending, or
 * `uncertain` where as many are as may be. Null: nothing of this.
 */
export function underWayOn(channelId: SQL): SQL {
  // The last one that may be uncertain: neither reads more than these, each by an index of its own.
  return sql`coalesce(
    (select u.state from deliveries u where u.channel_id = ${channelId} and u.state in ('claimed', 'sending') limit 1),
    (select u.state from deliveries u where u.channel_id = ${channelId} and u.state = 'uncertain' limit 1 offset ${sql.raw(String(UncertainAtMost - 1))}))`
}

/** SQL: the delivery `d` is to be looked for: its outcome is unknown, or it waits for a person and is looked for once more. */
export const isSought = sql`(d.state = 'uncertain' or (d.state = 'needs_review' and d.look_at is not null))`
