import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { someDeliveries } from '../../builders.ts'
import { type BrowserSite, browserSite, withChromium } from '../browser.ts'
import { aCalendar } from './stage.ts'

const Posts = 5000
const ScriptsAtMost = 250 * 1024 // compressed

const hasChromium = withChromium()
let here: BrowserSite
let calendar: Awaited<ReturnType<typeof aCalendar>>
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  calendar = await aCalendar(here)
  const { channelId, organisationId } = calendar
  const start = Date.parse('2031-03-01T00:00:00Z')
  const dueAt = (n: number) => new Date(start + Math.floor((n * 31 * 86_400_000) / Posts))
  const wanted = Array.from({ length: Posts }, (_, n) => ({
    organisationId,
    channelId,
    dueAt: dueAt(n),
    text: `Post ${n}`,
  }))
  for (let from = 0; from < Posts; from += 1000) await someDeliveries(here.db, wanted.slice(from, from + 1000))
  await here.db.execute(sql`vacuum analyze`)
}, 120_000)
afterAll(() => here?.end())

test('a month of 5,000 posts shows the first 2,000, says so, and each day leads to its own', async () => {
  const { page } = calendar
  await page.goto('/calendar?view=month&date=2031-03-12')
  await page.getByText('There are more than 2,000 posts here.').waitFor()
  await calendar.event('Post 3').first().waitFor()
  await page
    .getByText(/^\+1\d\d more$/)
    .first()
    .waitFor()
  await page.goto('/calendar?view=day&date=2031-03-30')
  await page.getByRole('heading', { level: 2, name: 'Sunday 30 March 2031' }).waitFor()
  await page.locator('main a[href*="post="]').first().waitFor()
})

test('its page takes at most fifteen times as long as that of an empty month', async () => {
  const full: number[] = []
  const empty: number[] = []
  for (let i = 0; i < 25; i++) {
    empty.push(await msOf('2032-03-12'))
    full.push(await msOf('2031-03-12'))
  }
  const said = `median ${medianOf(full).toFixed(0)} ms, of an empty month ${medianOf(empty).toFixed(0)} ms`
  process.stdout.write(`calendar of ${Posts} posts: ${said}\n`)
  expect(medianOf(full)).toBeLessThan(15 * medianOf(empty))
})

async function msOf(date: string): Promise<number> {
  const began = performance.now()
  const answer = await calendar.page.request.get(`/calendar?view=month&date=${date}`)
  expect([answer.status(), (await answer.body()).length > 10_000]).toEqual([200, true])
  return performance.now() - began
}

function medianOf(all: number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!
}

test('the scripts of the page are at most 250 KB, compressed', async () => {
  const { page } = calendar
  const paths = new Set<string>()
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/build/') && pathname.endsWith('.js')) paths.add(pathname)
  })
  await page.goto('/calendar?view=week&date=2031-03-12')
  await page.locator('main a[href*="post="]').first().waitFor()
  const bytes = [...paths].map((path) => brotliCompressSync(readFileSync(join('public', path))).length)
  const sum = bytes.reduce((all, one) => all + one, 0)
  process.stdout.write(`scripts of /calendar: ${(sum / 1024).toFixed(0)} KB\n`)
  expect(paths.size).toBeGreaterThan(5)
  expect(sum).toBeLessThan(ScriptsAtMost)
})
