import type { Page } from '@playwright/test'

/** From now on each answer that shows a post has `settings` in its overrides, which this version does not know. */
export async function withSettings(page: Page, settings: object): Promise<void> {
  await page.route('**/posts/*_data=*', async (route) => {
    if (route.request().method() !== 'GET') return route.fallback()
    const answer = await route.fetch()
    const data = await answer.json()
    if (!data.begun) return route.fulfill({ response: answer })
    const { untouched } = data.begun
    const fields = { ...untouched, overrides: untouched.overrides.map((own: object) => ({ ...own, settings })) }
    return route.fulfill({
      response: answer,
      json: { ...data, begun: { ...data.begun, start: fields, untouched: fields } },
    })
  })
}
