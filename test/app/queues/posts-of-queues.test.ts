import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
let page: Page

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
  await signUp(page, here.site, { timeZone: 'Europe/Berlin' })
  await connectFeed(page, 'My feed')
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Create a queue for this channel' }).click()
  await page.getByRole('heading', { name: 'My feed', level: 1 }).waitFor()
})
afterAll(() => here?.end())

const isAccessible = async () => expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])

async function queued(text: string): Promise<void> {
  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Add to queue' }).click()
  await page.getByText('The post is in the queue.').waitFor()
}

test('a queued post and the lists name its queue, and the queue leads to all its posts', async () => {
  await queued('First')
  await page.getByText('From the queue My feed').waitFor()
  await page.goto('/')
  await page.getByText('From the queue My feed').waitFor()
  await page.getByRole('link', { name: 'First' }).click()
  await page.getByRole('link', { name: 'My feed' }).click()
  await page.getByRole('heading', { name: 'My feed', level: 1 }).waitFor()
  await isAccessible()

  await page.getByRole('link', { name: 'All posts of this queue' }).click()
  await page.getByRole('heading', { name: 'Results' }).waitFor()
  expect(await page.getByRole('combobox', { name: 'Queue' }).locator(':checked').textContent()).toBe('My feed')
  await page.getByText('From the queue My feed').waitFor()
  await isAccessible()
  await page.getByRole('combobox', { name: 'Queue' }).selectOption('Any')
  await page.getByRole('searchbox', { name: 'Words' }).fill('nothing like it')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText('No posts found').waitFor()
})

test('a new date for a queued post says before and after saving that the post leaves its queue', async () => {
  await queued('Moves away')
  const hint = page.getByText('This takes the post out of the queue My feed')
  expect(await hint.count()).toBe(0)
  const date = await page.getByLabel('Date').inputValue()
  await page.getByLabel('Date').fill('2031-05-06')
  await hint.waitFor()
  await isAccessible()
  await page.getByLabel('Date').fill(date)
  await hint.waitFor({ state: 'detached' })

  await page.getByLabel('Date').fill('2031-05-06')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved. It left the queue My feed.').waitFor()
  await page.getByText('From the queue').waitFor({ state: 'detached' })
  expect(await hint.count()).toBe(0)
})

test('a draft of a paused queue says that it leaves the queue when it is scheduled, and then that it did', async () => {
  await queued('Waits in a pause')
  const address = page.url().split('?')[0]!
  await page.goto('/queues')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('My feed is paused.').waitFor()
  await page.goto(address)
  await page.getByText('This draft waits in the queue My feed.').waitFor()
  await isAccessible()
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('The post is scheduled. It left the queue My feed.').waitFor()
  await page.goto('/queues')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('My feed is resumed.').waitFor()
})

test('Undo of an unscheduled post says that the post left its queue', async () => {
  await queued('Comes back')
  await page.getByRole('button', { name: 'Unschedule' }).click()
  await page.getByText("We won't send this post.").waitFor()
  await page.getByText('From the queue My feed').waitFor()
  await isAccessible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The post is scheduled again. It left the queue My feed.').waitFor()
})

test('the composer offers only queues that have all chosen channels, and says why it offers none', async () => {
  await connectFeed(page, 'Another feed')
  await page.goto('/posts/new')
  const add = page.getByRole('button', { name: 'Add to queue' })
  const mine = page.getByRole('checkbox', { name: 'My feed' })
  const another = page.getByRole('checkbox', { name: 'Another feed' })
  await mine.check()
  await another.uncheck()
  await add.waitFor()
  await page.getByText(/^Next: /).waitFor()
  await another.check()
  await page.getByText("You can't add this post to the queue My feed, because Another feed is not in it.").waitFor()
  expect(await add.count()).toBe(0)
  await isAccessible()

  await page.goto('/channels')
  const ofAnother = { name: 'Create a queue for this channel', description: 'Another feed' }
  await page.getByRole('button', ofAnother).click()
  await page.getByRole('heading', { name: 'Another feed', level: 1 }).waitFor()
  await page.goto('/posts/new')
  await mine.check()
  await another.check()
  const why = "You can't add this post to a queue, because none has all its channels: Another feed is not in My feed."
  await page.getByText(why).waitFor()
  await mine.uncheck()
  await page.getByText(/^Another feed, next: /).waitFor()
  await page.getByLabel('Text', { exact: true }).fill('In the other queue')
  await add.click()
  await page.getByText('From the queue Another feed').waitFor()
  await mine.waitFor()
})

test('the composer says that the queue of the chosen channels is paused, and leads to it', async () => {
  await page.goto('/queues')
  await page.getByRole('button', { name: 'Pause', description: 'My feed' }).click()
  await page.getByText('My feed is paused.').waitFor()
  await page.goto('/posts/new')
  const add = page.getByRole('button', { name: 'Add to queue' })
  const mine = page.getByRole('checkbox', { name: 'My feed' })
  const another = page.getByRole('checkbox', { name: 'Another feed' })
  const paused = page.getByText('The queue My feed is paused.')
  await another.uncheck()
  await mine.check()
  await paused.waitFor()
  expect(await add.count()).toBe(0)
  await isAccessible()

  await mine.uncheck()
  await another.check()
  await page.getByText(/^Next: /).waitFor()
  expect(await paused.count()).toBe(0)
  await another.uncheck()
  await mine.check()
  await paused.getByRole('link', { name: 'My feed' }).click()
  await page.getByRole('heading', { name: 'My feed', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
})
