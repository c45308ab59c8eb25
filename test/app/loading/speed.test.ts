import type { CDPSession, Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organisations } from '../../../db/schema/accounts.ts'
import { installation } from '../../../db/schema/installation.ts'
import { fillOrganisation } from '../../postgres/many-posts.ts'
import { type BrowserSite, browserSite, signUp, withChromium } from '../browser.ts'
import { ShiftAtMost, shiftOf, untilDrawn, watchShifts } from './shifts.ts'

const Posts = 5000
const AnswerMs = 100
const Rounds = 9

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
  await signUp(page, here.site)
  await here.db.update(installation).set({ pausedAt: new Date() }) // or the worker is at what is late
  const [organisation] = await here.db.select().from(organisations)
  await fillOrganisation(here.db, { organisationId: organisation!.id, count: Posts, channelCount: 5 })
  await here.db.execute(sql`analyze`)
  state = await page.context().storageState()
})
afterAll(() => here?.end())

test.each([390, 1280])(
  'no page moves while it loads, %i pixels wide',
  async (width) => {
    const look = { viewport: { width, height: 800 } }
    const [visitor, member] = [await here.page(look), await here.page({ ...look, storageState: state })]
    for (const who of [visitor, member]) {
      await watchShifts(who)
      await slow(await who.context().newCDPSession(who)) // or pictures are there before the first paint
    }
    for (const [who, path] of [
      [visitor, '/'],
      [visitor, '/login'],
      [visitor, '/signup'],
      [member, '/'],
      [member, '/posts/new'],
      [member, '/channels'],
      [member, '/calendar'],
      [member, '/calendar?view=week'],
      [member, '/queues'],
      [member, '/settings/activity'],
    ] as const) {
      await who.goto(path)
      await untilDrawn(who)
      const shift = await shiftOf(who)
      process.stdout.write(`${path} ${width}: ${shift.toFixed(4)}\n`)
      expect(`${path}: ${shift <= ShiftAtMost}`).toBe(`${path}: true`)
    }
  },
  300_000,
)

test('the page of the composer has its width before the form is there', async () => {
  const look = { viewport: { width: 1280, height: 800 }, storageState: state, javaScriptEnabled: false }
  const [whole, begun] = [await here.page(look), await here.page(look)]
  const widthOf = async (where: Page) => (await where.locator('main').boundingBox())!.width
  await begun.route('**/posts/new', async (route) => {
    const response = await route.fetch()
    const text = await response.text()
    await route.fulfill({ response, body: text.slice(0, text.indexOf('</h1>')) })
  })
  for (const one of [whole, begun]) await one.goto('/posts/new')
  expect(await begun.getByLabel('Text', { exact: true }).count()).toBe(0)
  expect(await widthOf(begun)).toBe(await widthOf(whole))
})

// The median is printed, for a machine that does nothing else. Other tests run beside this one: ten times the goal is asserted.
test(`each page of ${Posts} posts is measured, and none takes ten times ${AnswerMs} ms`, async () => {
  await page.goto('/?status=ALL')
  const post = await page.locator('main li a[href^="/posts/"]').first().getAttribute('href')
  const lists = ['/', '/?status=ALL', '/?status=DRAFT', '/posts/find?words=post', '/calendar', '/calendar?view=week']
  const paths = [...lists, '/posts/new', post!, '/channels', '/queues', '/settings/activity', '/settings/account']
  const times = new Map(paths.map((path) => [path, [] as number[]]))
  for (let i = 0; i < Rounds; i++)
    for (const path of paths) {
      const begun = performance.now()
      expect((await page.request.get(path)).status()).toBe(200)
      times.get(path)!.push(Math.round(performance.now() - begun))
    }
  const sorted = [...times].map(([path, each]) => ({ path, each: each.toSorted((a, b) => a - b) }))
  for (const { path, each } of sorted)
    process.stdout.write(`${path.replace(/[0-9a-f-]{36}/, 'ID')}: median ${median(each)} ms, fastest ${each[0]} ms\n`)
  expect(sorted.filter(({ each }) => median(each) > 10 * AnswerMs)).toEqual([])
})

function median(sorted: number[]): number {
  return sorted[Math.floor(sorted.length / 2)]!
}

test('on a slow phone what is typed as soon as the text field is there is saved', async () => {
  const phone = await here.page({ storageState: state, viewport: { width: 390, height: 800 } })
  await slow(await phone.context().newCDPSession(phone))
  await phone.goto('/')
  await phone.getByRole('link', { name: 'New post' }).click()
  const text = phone.getByLabel('Text', { exact: true })
  await text.waitFor({ timeout: 30_000 }) // ten times the goal
  await text.pressSequentially('Typed on a slow phone')
  await phone.getByText('Your text is saved.').waitFor({ timeout: 30_000 })
  await expect.poll(() => text.inputValue()).toBe('Typed on a slow phone')
  const copies = () => here.db.execute<{ content: string }>(sql`select content from working_copies`)
  const texts = async () => (await copies()).map(({ content }) => content)
  await expect.poll(texts).toEqual(['Typed on a slow phone']) // the first save may have been in the middle of it
})

/** A processor four times as slow, and 200 KB/s with 150 ms to the server. */
async function slow(session: CDPSession): Promise<void> {
  const bytes = 200_000
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  await session.send('Network.enable')
  const network = { offline: false, latency: 150, downloadThroughput: bytes, uploadThroughput: bytes }
  await session.send('Network.emulateNetworkConditions', network)
}
