/** The events that a webhook can get. */
export const eventTypes = [
  'post.created',
  'post.updated',
  'post.published',
  'post.partially_published',
  'post.failed',
  'post.needs_review',
  'post.cancelled',
  'channel.connected',
  'channel.needs_reconnect',
] as const
export type EventType = (typeof eventTypes)[number]
