import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from './browser.ts'
import { aMember, textOf } from './member.ts'

let here: BrowserSite
inBrowser((site) => {
  here = site
})

// React sends a document in pieces of 2,048 bytes. In one of these three texts at least, a piece ends inside a letter.
const texts = ['', 'a', 'aa'].map((start) => start + '語'.repeat(660))

test('a text whose letters have several bytes arrives as it is, and opening it leaves no unfinished text', async () => {
  const { page, channelIds, makePost, copies } = await aMember(here)
  for (const content of texts) {
    const path = `/posts/${await makePost({ channelIds, type: 'draft', content })}`
    const document = await (await page.request.get(path)).body()
    expect(document.includes(0)).toBe(false)

    await page.goto(path)
    await page.getByRole('link', { name: 'Posts', exact: true }).click()
    await page.getByRole('heading', { name: 'Posts' }).waitFor()
    await page.goto(path)
    expect(await textOf(page).inputValue()).toBe(content)
  }
  expect(await copies()).toEqual([])
})
