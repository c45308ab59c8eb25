import { filledForm } from './forms.ts'

export type Page = { url: URL; html: string }

/** What a person does at a site: open its pages, and fill in the forms on them. */
export type Browser = {
  open: (address: string) => Promise<Page>
  submit: (address: string, typed: Record<string, string>) => Promise<Page>
}

/** A browser that runs no scripts, with the cookies of the site at `origin`. Throws at any page that is an error. */
export function openBrowser(origin: string): Browser {
  const cookies = new Map<string, string>()

  async function follow(address: string, init: { method?: string; body?: URLSearchParams } = {}): Promise<Page> {
    const url = new URL(address, origin)
    if (url.origin !== origin) throw new Error(`${url} is another site.`)
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { cookie, ...(init.method ? { origin } : {}) }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      cookies.set(name, value)
    }
    const html = await response.text()
    const location = response.headers.get('location')
    if (location) return follow(new URL(location, url).href)
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${url} answered ${response.status}: ${html}`)
    return { url, html }
  }

  return {
    open: (address) => follow(address),
    async submit(address, typed) {
      const { html } = await follow(address)
      const { action, body } = filledForm(html, typed)
      return follow(action, { method: 'POST', body })
    },
  }
}
