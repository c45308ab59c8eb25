export const scopes = [
  'channels:read',
  'posts:read',
  'posts:write',
  'media:read',
  'media:write',
  'webhooks:manage',
] as const
export type Scope = (typeof scopes)[number]
/** Whether a scope is for making or changing posts or files. */
export const isWriting = (scope: Scope | undefined): boolean => scope === 'posts:write' || scope === 'media:write'

/** What a credential gets that names no scopes. */
export const defaultScopes: Scope[] = scopes.filter((scope) => scope !== 'webhooks:manage')
