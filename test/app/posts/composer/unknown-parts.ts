import type { Page } from '@playwright/test'

/** From now on each answer that shows a post has `settings` in its overrides, which this version does not know. */
export async function withSettings(page: Page, settings: object): Promise<void> {
  await page.route('**/posts/*_data=*', async (route) => {
    if (route.request().method() !== 'GET') return route.fallback()
    const answer = await route.fetch()
    const data = await answer.json()
    if (!data.untouched) return route.fulfill({ response: answer })
    const overrides = data.untouched.overrides.map((own: object) => ({ ...own, settings }))
    const fields = { ...data.untouched, overrides }
    return route.fulfill({
      response: answer,
      json: { ...data, untouched: fields, begun: { ...data.begun, start: fields } },
    })
  })
}
