/** What is wrong with the redirect URIs of an app, in words. */
export const redirectUriFaults = {
  form: 'Must start with https://, or with http:// for 127.0.0.1, [::1] or localhost. No fragment, user name or wildcard.',
  tooMany: 'At most 10 redirect URLs.',
  twice: 'The same URL is listed twice.',
}
export const RedirectUrisAtMost = 10

/** Whether this is a redirect URI: https, or http to a loopback address; no fragment, user info or wildcard. */
export function isRedirectUri(value: string): boolean {
  if (!URL.canParse(value) || /[\s#*\\]|[^\x21-\x7e]/.test(value)) return false
  // As typed: a parser would also read https:host, 127.1 and a user without a name.
  const [, scheme, authority = '@'] = value.match(/^(https?):\/\/([^/?]+)/) ?? []
  if (authority.includes('@')) return false
  return scheme === 'https' || /^(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?$/.test(authority)
}

/** Whether no URI is in the list twice. */
export function isListedOnce(uris: string[]): boolean {
  return new Set(uris).size === uris.length
}
