/** The session's cookie: `__Host-` where the site is on https, so that no other host can set it. */
export function sessionCookie(appUrl: string) {
  const isSecure = appUrl.startsWith('https:')
  const name = isSecure ? '__Host-session' : 'session'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    read: (header: string) => header.match(new RegExp(`(?:^|;\\s*)${name}=([\\w-]{43})(?:;|$)`))?.[1] ?? null,
    start: ({ token, expiresAt }: { token: string; expiresAt: Date }) =>
      `${name}=${token}; ${attributes}; Expires=${expiresAt.toUTCString()}`,
    end: () => `${name}=; ${attributes}; Max-Age=0`,
  }
}
