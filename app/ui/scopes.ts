import type { Scope } from '../../server/forms.ts'

/** What a scope lets somebody do, in plain words. */
export const scopeWords: Record<Scope, string> = {
  'channels:read': 'See the channels',
  'posts:read': 'See posts and what became of them',
  'posts:write': 'Publish and schedule posts, change and cancel them',
  'media:read': 'See images',
  'media:write': 'Add, describe and delete images',
  'webhooks:manage': 'Have news of posts and channels sent to other servers (webhooks)',
}
