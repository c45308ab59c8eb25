import type { Page } from '@playwright/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../processes.ts'
import { withChromium } from '../browser.ts'
import { aSite } from '../posts/elsewhere.ts'
import { type ConsentSite, consentSite } from './consent-site.ts'

// Who would answer the consent page in a person's stead, in a real browser.

const hasChromium = withChromium()
let here: ConsentSite
beforeAll(async () => {
  if (hasChromium) here = await consentSite()
})
afterAll(() => here?.end())

describe('what another page does', () => {
  /** Open a page of an attacker in the browser of somebody who is signed in. */
  async function lured(page: Page, body: string): Promise<Page> {
    const attacker = await aSite(() => ({ body }))
    const other = await page.context().newPage() // its complaints are expected
    await other.goto(attacker.origin)
    return other
  }

  const formOf = (fields: Record<string, string>) => `
    <form method="post" action="${here.site.appUrl}${here.authorizePath().replaceAll('&', '&amp;')}">
      ${Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)}
    </form><script>document.forms[0].submit()</script>`

  test('a frame shows no consent', async () => {
    const { page } = await here.asked()
    const other = await lured(
      page,
      `<iframe src="${here.site.appUrl}${here.authorizePath().replaceAll('&', '&amp;')}"></iframe>`,
    )
    const frame = await until(() => other.frames()[1])
    await until(() => frame.url().startsWith('chrome-error:'))
    expect(await frame.getByRole('button').count()).toBe(0)
  })

  test('a form that it sends by itself is refused, with the very token of the page as well', async () => {
    const { page, email } = await here.asked()
    const request = await page.locator('input[name=request]').inputValue()
    for (const token of [request, '']) {
      const other = await lured(page, formOf({ request: token, decision: 'approve', reach: 'all' }))
      await other.getByText('another site').waitFor()
    }
    expect(await here.grantsOf(email)).toEqual([])
  })

  test('a link that carries a decision asks like any other', async () => {
    const { page, email } = await here.asked()
    const request = await page.locator('input[name=request]').inputValue()
    await page.goto(here.authorizePath(`&request=${request}&decision=approve`))
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    expect(await here.grantsOf(email)).toEqual([])
  })
})

test('a form without a token, or with that of another session, is refused and lets nobody in', async () => {
  const [{ page, email }, victim] = [await here.asked(), await here.asked()]
  const request = await page.locator('input[name=request]').inputValue()
  for (const form of [
    { decision: 'approve', reach: 'all' },
    { decision: 'approve', reach: 'all', request },
  ]) {
    const answer = await victim.page.request.post(here.authorizePath(), {
      form,
      maxRedirects: 0,
      headers: { origin: here.site.appUrl },
    })
    expect(answer.status()).toBe(409)
  }
  expect([await here.grantsOf(email), await here.grantsOf(victim.email)]).toEqual([[], []])
})

test('a form with Origin: null is refused, also with its token', async () => {
  const { page } = await here.asked()
  const request = await page.locator('input[name=request]').inputValue()
  for (const more of [{}, { 'sec-fetch-site': 'same-origin' }]) {
    const form = { request, decision: 'approve', reach: 'all' }
    const sent = { form, maxRedirects: 0, headers: { origin: 'null', ...more } }
    expect((await page.request.post(here.authorizePath(), sent)).status()).toBe(403)
  }
})
