import type { Scope } from './access/scopes.ts'
import type { EventType } from './webhooks/forms.ts'

// What pages and the OpenAPI document call scopes and events.

/** What a scope lets somebody do, in plain words. */
export const scopeWords: Record<Scope, string> = {
  'channels:read': 'See the channels',
  'posts:read': 'See posts and what became of them',
  'posts:write': 'Publish and schedule posts, change and cancel them',
  'media:read': 'See images and videos',
  'media:write': 'Add, describe and delete images and videos',
  'webhooks:manage': 'Have news of posts and channels sent to other servers (webhooks)',
}

/** When each event is sent, in plain words. */
export const eventWords: Record<EventType | 'webhook.test', string> = {
  'post.created': 'A post was made, as a draft too',
  'post.updated': 'A post was changed, each time',
  'post.published': 'A post is out on all of its channels',
  'post.partially_published': 'A post is out on some of its channels and failed on the others',
  'post.failed': 'A post failed on all of its channels',
  'post.needs_review': 'A person must decide on a post: it may be out, or it could not be sent in time',
  'post.cancelled': 'A post was cancelled, or a draft deleted',
  'channel.connected': 'A channel was connected, for the first time or again',
  'channel.needs_reconnect': 'A channel publishes nothing until somebody connects it again',
  'webhook.test': 'Somebody sent a test event',
}
