type Way = { origin?: string | null; cookie?: string; headers?: Record<string, string> }
type Jar = { cookie: string; device: string }

/**
 * A browser without scripts: it keeps the cookies of the session and the device, and sends forms as a page of `origin`
 * does. `headers` are what a proxy before the site adds.
 */
export function aBrowser(appUrl: string, { origin = appUrl, cookie = '', headers: added = {} }: Way = {}) {
  const jar: Jar = { cookie, device: '' }
  return browserWith(appUrl, { origin, headers: added, jar })
}

type With = { origin: string | null; headers: Record<string, string>; jar: Jar }

function browserWith(appUrl: string, way: With) {
  const { origin, headers: added, jar } = way
  const send = async (path: string, init: RequestInit) => {
    const cookies = [jar.cookie, jar.device].filter((one) => one !== '').join('; ')
    const headers = { ...added, ...(init.headers as Record<string, string>), ...(cookies ? { cookie: cookies } : {}) }
    const response = await fetch(`${appUrl}${path}`, { ...init, headers, redirect: 'manual' })
    for (const set of response.headers.getSetCookie()) keep(jar, set.split(';')[0]!)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return {
    jar,
    get: (path: string) => send(path, {}),
    post: (path: string, form: Record<string, string>) =>
      send(path, { method: 'POST', body: new URLSearchParams(form), headers: origin === null ? {} : { origin } }),
    /** The same browser, for whom a proxy adds this header. */
    at: (name: string, value: string) => browserWith(appUrl, { ...way, headers: { ...added, [name]: value } }),
  }
}

function keep(jar: Jar, cookie: string): void {
  if (/^(__Host-)?device=/.test(cookie)) jar.device = cookie
  else jar.cookie = cookie
}
