import type { Scope } from './access/scopes.ts'
import type { EventType } from './webhooks/event-names.ts'

// What pages and the OpenAPI document call scopes and events.

/** What a scope allows, in plain words. */
export const scopeWords: Record<Scope, string> = {
  'channels:read': 'See channels',
  'posts:read': 'See posts and what happened to them',
  'posts:write': 'Create, schedule, publish, change and cancel posts',
  'media:read': 'See images and videos',
  'media:write': 'Add, describe and delete images and videos',
  'webhooks:manage': 'Send events about posts and channels to other servers (webhooks)',
}

/** When each event is sent, in plain words. */
export const eventWords: Record<EventType | 'webhook.test', string> = {
  'post.created': 'A post was created, drafts included',
  'post.updated': 'A post was changed',
  'post.published': 'A post was published on all of its channels',
  'post.partially_published': 'A post was published on some of its channels and failed on the others',
  'post.failed': 'A post failed on all of its channels',
  'post.needs_review': 'A post needs a decision: it may be published, or it could not be sent in time',
  'post.cancelled': 'A post was cancelled, or a draft deleted',
  'channel.connected': 'A channel was connected, for the first time or again',
  'channel.needs_reconnect': "A channel can't publish until somebody reconnects it",
  'webhook.test': 'Somebody sent a test event',
}
