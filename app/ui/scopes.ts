import type { Scope } from '../../server/forms.ts'

/** What a scope lets somebody do, in plain words. */
export const scopeWords: Record<Scope, string> = {
  'channels:read': 'See the channels',
  'posts:read': 'See posts and what became of them',
  'posts:write': 'Schedule, change and cancel posts',
  'media:read': 'See images',
  'media:write': 'Add images',
  'webhooks:manage': 'Add and remove webhooks',
}
