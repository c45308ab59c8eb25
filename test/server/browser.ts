/** A browser without scripts: it keeps the session's cookie and sends forms as a page of `origin` does. */
export function aBrowser(appUrl: string, { origin = appUrl as string | null, cookie = '' } = {}) {
  const jar = { cookie }
  const send = async (path: string, init: RequestInit) => {
    const headers = { ...(init.headers as Record<string, string>), ...(jar.cookie ? { cookie: jar.cookie } : {}) }
    const response = await fetch(`${appUrl}${path}`, { ...init, headers, redirect: 'manual' })
    const setCookie = response.headers.get('set-cookie')
    if (setCookie) jar.cookie = setCookie.split(';')[0]!
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return {
    jar,
    get: (path: string) => send(path, {}),
    post: (path: string, form: Record<string, string>) =>
      send(path, { method: 'POST', body: new URLSearchParams(form), headers: origin === null ? {} : { origin } }),
  }
}
