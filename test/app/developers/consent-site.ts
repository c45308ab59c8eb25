import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { accountByEmail } from '../../../server/accounts/account.ts'
import { type BrowserSite, browserSite, signUp } from '../browser.ts'
import { aSite } from '../posts/elsewhere.ts'

export const State = 'a%2Bb%20%C3%A9%26%3D%2f'

export type ConsentSite = Awaited<ReturnType<typeof consentSite>>

/**
 * A site with an app that is registered through its form, and the app's callback.
 *
 * The callback is on another port of localhost: another origin, and still the same site, so that the session's cookie
 * goes along with whatever it sends.
 */
export async function consentSite() {
  const here = await browserSite()
  const third = await aSite(() => ({ body: 'the end' }))
  const callback = await aSite(({ url }) =>
    url!.startsWith('/hop') ? { location: `${third.origin}/there` } : { body: 'here' },
  )
  const app = await register(here, callback.origin)
  const authorizePath = (more = '') =>
    `/oauth/authorize?client_id=${app.clientId}&response_type=code&state=${State}${more}`
  return {
    ...here,
    callback,
    app,
    authorizePath,
    /** A person at the consent page, signed in. */
    async asked(): Promise<{ page: Page; email: string }> {
      const page = await here.page()
      const email = await signUp(page, here.site)
      await page.goto(authorizePath())
      return { page, email }
    },
    /** What a person has approved. */
    async grantsOf(email: string) {
      const { id } = (await accountByEmail(here.db, email))!
      const rows = await here.db.execute<{ organisation: string; channels: string[] | null }>(sql`
        select o.name as organisation, g.channel_ids as channels from grants g
        join organisations o on o.id = g.organisation_id where g.approved_by = ${id} order by g.created_at`)
      return [...rows]
    },
  }
}

async function register(here: BrowserSite, origin: string) {
  const page = await here.page()
  await signUp(page, here.site, { organisation: 'Makers' })
  await page.goto('/settings/developers/apps')
  await page.getByRole('button', { name: 'Create app' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Calendar')
  await page.getByLabel('Description').fill('Posts beside your meetings.')
  await page.getByLabel('Redirect URL').fill(`${origin}/cb?kept=1\nhttp://elsewhere.example/`)
  await page.getByText('http://elsewhere.example/: Must start with https://').waitFor() // as it is typed
  await page.getByLabel('Redirect URL').fill(`${origin}/cb?kept=1\n${origin}/hop`)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Calendar is registered').waitFor()
  const [clientId, clientSecret] = await page.locator('code').allTextContents()
  const id = (await page.locator('#main').getByRole('link', { name: 'Calendar' }).getAttribute('href'))!
    .split('/')
    .at(-1)!
  return { id, clientId: clientId!, clientSecret: clientSecret! }
}
