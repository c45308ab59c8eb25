import { chromium, type Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import type { Override, Post } from '../../jobs/ledger/post-view.ts'
import { aKeyOfAllScopes, aPhoto } from '../builders.ts'
import { type BrowserSite, chromiumPath, connectFeed, Password, signUp } from './browser.ts'

type Person = { feeds?: string[]; timeZone?: string }

/** A new person with an organisation and feeds, signed in to a page in a browser of their own. */
export async function aMember(here: BrowserSite, { feeds = ['My feed'], ...person }: Person = {}) {
  const page = await here.page()
  const email = await signUp(page, here.site, person)
  const channelIds: string[] = []
  for (const name of feeds) channelIds.push(await connectFeed(page, name))
  const [ids] = await here.db.execute<{ organisationId: string; accountId: string }>(sql`
    select m.organisation_id as "organisationId", m.account_id as "accountId"
    from memberships m join accounts a on a.id = m.account_id where a.email = ${email}`)
  const key = await aKeyOfAllScopes(here.db, ids!)
  const copies = () =>
    here.db.execute<{ content: string; overrides: Override[]; alts: Record<string, string> }>(sql`
      select content, overrides, alts from working_copies where account_id = ${ids!.accountId}`)
  return {
    ...{ page, email, channelIds, key, ...ids! },
    ...apiWith(here, key),
    /** The texts of the person's working copies. */
    copies: async () => (await copies()).map(({ content }) => content),
    /** What the channels have of their own in the person's only working copy. */
    copiedOverrides: async () => (await copies())[0]?.overrides ?? [],
    /** The alt texts in the person's only working copy. */
    copiedAlts: async () => Object.values((await copies())[0]?.alts ?? {}),
  }
}

export type Member = Awaited<ReturnType<typeof aMember>>

/** Calls of the public API with `key`. Each must succeed. */
function apiWith({ site }: BrowserSite, key: string) {
  const authorization = `Bearer ${key}`
  async function callApi<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${site.appUrl}/public/v1${path}`, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    expect(answer.ok).toBe(true)
    return answer.json() as Promise<T>
  }
  return {
    callApi,
    readPost: (id: string) => callApi<Post>('GET', `/posts/${id}`),
    /** Make a post, scheduled in three days if `parts` don't say more. Returns its id. */
    async makePost(parts: { channelIds: string[]; type?: string } & Record<string, unknown>): Promise<string> {
      const when = parts.type ? {} : { type: 'schedule', date: new Date(Date.now() + 3 * 86_400_000).toISOString() }
      return (await callApi<Post>('POST', '/posts', { content: 'For all', ...when, ...parts })).id
    },
    /** Upload a picture with this alt text. Returns its id. */
    async uploadPhoto(alt: string): Promise<string> {
      const body = new FormData()
      body.set('alt', alt)
      body.set('file', new Blob([await aPhoto({ width: 40, height: 30 })], { type: 'image/png' }), 'a.png')
      const answer = await fetch(`${site.appUrl}/public/v1/media`, { method: 'POST', headers: { authorization }, body })
      return ((await answer.json()) as { id: string }).id
    },
  }
}

/** A page of the person in a browser that can be killed. End it at last. */
export async function aBrowserToKill({ site }: BrowserSite, { email }: { email: string }) {
  const server = await chromium.launchServer({ executablePath: chromiumPath!, args: ['--no-sandbox'] })
  const browser = await chromium.connect(server.wsEndpoint())
  const page: Page = await (await browser.newContext({ baseURL: site.appUrl })).newPage()
  await signIn(page, site.appUrl, email)
  return {
    page,
    kill: () => void server.process().kill('SIGKILL'),
    end: () => server.close().catch(() => {}),
  }
}

async function signIn(page: Page, appUrl: string, email: string): Promise<void> {
  const answer = await page.request.post('/login', { form: { email, password: Password }, headers: { origin: appUrl } })
  expect(answer.ok()).toBe(true)
}

/** The field for the text of all channels. */
export function textOf(page: Page) {
  return page.getByLabel('Text', { exact: true })
}

/** Waits until nothing moves or changes its colour any more. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await expect.poll(() => page.evaluate(() => document.getAnimations().length)).toBe(0)
}

/** Waits until the server has what was typed. */
export function savedIn(page: Page): Promise<void> {
  return page.getByText(/^Your text is saved/).waitFor()
}
