import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { channels } from '../../../../db/schema/channels.ts'
import { inBrowser } from '../../browser.ts'
import { aMember, settled } from '../../member.ts'

const Names = [
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenmacherei',
  'قناة الأخبار العاجلة من القاهرة',
  '👨‍👩‍👧‍👦🎉 Party 🎉👨‍👩‍👧‍👦',
  'Café Zürich',
]
const limits = { textLength: 40, textUnit: 'characters' as const, mediaCount: 4, mediaTypes: ['image/png'] }
let page: Page
inBrowser(async (here) => {
  const member = await aMember(here, { feeds: ['A feed'] })
  page = member.page
  const rows = Array.from({ length: 49 }, (_, index) => ({
    organisationId: member.organisationId,
    remoteAccount: `social.example/${index}`,
    limits,
    network: index % 2 ? 'mastodon' : 'bluesky',
    name: Names[index] ?? `Channel number ${index}`,
    handle: `@channel${index}@social.example`,
    status: index === 1 ? ('needs_reconnect' as const) : ('active' as const),
  }))
  await here.db.insert(channels).values(rows)
  await page.goto('/posts/new')
})

const channel = (name: string | RegExp) => page.getByRole('checkbox', { name })
const shown = () => page.getByRole('group', { name: 'Channels' }).getByRole('checkbox').count()

test('fifty channels are searched without accents or case, and chosen ones stay in sight', async () => {
  expect(await shown()).toBe(50)
  await page.getByLabel('Search channels').click() // makes the page interactive, if it is not yet
  await page.getByLabel('Search channels').fill('ZURICH cafe')
  await expect.poll(shown).toBe(1)
  await channel('Café Zürich').check()
  await page.getByLabel('Search channels').fill('العاجلة')
  await expect.poll(shown).toBe(2)
  await page.getByLabel('Search channels').press('Enter')
  expect(new URL(page.url()).pathname).toBe('/posts/new')
  await page.getByLabel('Search channels').fill('nothing like it')
  await page.getByText('No channels found.').waitFor()

  await page.getByLabel('Search channels').fill('number 1')
  await page.getByRole('button', { name: 'Choose all' }).click()
  await page.getByText('14 of 50 chosen').waitFor() // 10 to 19, 21, 31, 41, and the café
  await page.getByRole('button', { name: 'Choose none' }).click()
  await page.getByText('1 of 50 chosen').waitFor()
  await page.getByLabel('Search channels').fill('')
})

test('a channel that must be reconnected says so in full, with the way there', async () => {
  await page.getByText('Needs a reconnect: posts to it wait. Reconnect').waitFor()
  expect(await page.getByRole('link', { name: 'Reconnect' }).getAttribute('href')).toMatch(/^\/channels\?reconnect=/)
})

test('the preview shows what the chosen channel really gets, as its network shows it', async () => {
  await page
    .getByLabel('Text', { exact: true })
    .fill('See https://www.example.org/a/path/that/is/long by @ada@social.example #news.')
  const preview = page.getByRole('article', { name: 'Post on Mastodon' })
  await preview.getByText('example.org/a/path/that/is/lon…').waitFor()
  await preview.getByText('@ada@social.example', { exact: true }).waitFor()
  await preview.getByText('The network shows a card of www.example.org').waitFor()

  await channel('A feed').check()
  await page.getByLabel('Channel of the preview').selectOption('A feed')
  await page
    .getByRole('article', { name: 'Post on Feed' })
    .getByText('https://www.example.org/a/path/that/is/long')
    .waitFor()
  await page.getByRole('button', { name: 'Write a text for this channel' }).first().click()
  await page.getByLabel('Text for A feed').fill('Only in the feed')
  await page.getByRole('article', { name: 'Post on Feed' }).getByText('Only in the feed').waitFor()
})

test('axe finds nothing wrong with fifty channels, an own text and problems, and no word is wider than the page', async () => {
  await page.getByRole('button', { name: 'Choose all' }).click()
  await page.getByText('more channels have a similar problem.').waitFor()
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await settled(page) // buttons change their colours slowly
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
    }
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    expect(await overflow()).toBe(0)
  }
})

test('a new post begins with the channels of the last one', async () => {
  await page.getByRole('button', { name: 'Choose none' }).click()
  for (const name of ['A feed', Names[1]!]) await channel(name).check()
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await page.goto('/posts/new')

  await page.getByText('2 of 50 chosen').waitFor()
  for (const name of ['A feed', Names[1]!]) await expect.poll(() => channel(name).isChecked()).toBe(true)
  expect(await page.getByText('Unfinished texts').count()).toBe(0)
})
