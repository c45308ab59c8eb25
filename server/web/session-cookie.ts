import type { NewSession } from '../accounts/sessions.ts'

/**
 * The cookies of a browser: its session, and its device, which outlives the session. `__Host-` if the site
 * is on https, so that no other host can set them.
 */
export function sessionCookie(appUrl: string) {
  const isSecure = appUrl.startsWith('https:')
  const prefix = isSecure ? '__Host-' : ''
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const read = (header: string, name: string) =>
    header.match(new RegExp(`(?:^|;\\s*)${prefix}${name}=([\\w-]{43})(?:;|$)`))?.[1] ?? null
  const set = (name: string, { token, expiresAt }: { token: string; expiresAt: Date }) =>
    `${prefix}${name}=${token}; ${attributes}; Expires=${expiresAt.toUTCString()}`
  return {
    read: (header: string) => read(header, 'session'),
    readDevice: (header: string) => read(header, 'device'),
    /** The headers that sign a browser in. */
    start: ({ device, ...session }: NewSession) =>
      new Headers([
        ['Set-Cookie', set('session', session)],
        ['Set-Cookie', set('device', device)],
      ]),
    end: () => `${prefix}session=; ${attributes}; Max-Age=0`,
  }
}
