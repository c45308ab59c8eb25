import type { Locator, Page } from '@playwright/test'
import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import { organisations } from '../../../db/schema/accounts.ts'
import { type DeliveryState, deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { queueChannels, queues } from '../../../db/schema/queues.ts'
import { someDeliveries } from '../../builders.ts'
import { type BrowserSite, connectFeed, signUp } from '../browser.ts'

type Wanted = { at: string; text: string; state?: DeliveryState; channelId?: string }

/**
 * A person in Berlin with a browser in New Zealand, a channel and a calendar of their own. Its posts are years from now,
 * so that no worker sends them.
 */
export async function aCalendar(here: BrowserSite, { width = 1280 } = {}) {
  const page = await here.page({ locale: 'en-GB', timezoneId: 'Pacific/Auckland', viewport: { width, height: 1400 } })
  const name = `Calendar ${Math.random()}`
  const email = await signUp(page, here.site, { timeZone: 'Europe/Berlin', organisation: name })
  const channelId = await connectFeed(page, 'News')
  const [organisation] = await here.db.select().from(organisations).where(eq(organisations.name, name))
  const organisationId = organisation!.id
  return {
    ...{ page, email, channelId, organisationId },
    /** Add a post. Returns its id. */
    async post({ at, ...rest }: Wanted): Promise<string> {
      const [id] = await someDeliveries(here.db, [{ organisationId, channelId, dueAt: new Date(at), ...rest }])
      const [delivery] = await here.db.select().from(deliveries).where(eq(deliveries.id, id!))
      return delivery!.postId
    },
    /** Add a queue with times on each day of the week, on the person's clock. Returns its id. */
    async queue(name: string, times: string[], channelIds = [channelId]): Promise<string> {
      const id = uuidv7()
      const weekly = [1, 2, 3, 4, 5, 6, 7].flatMap((weekday) => times.map((time) => ({ weekday, time })))
      const row = { id, organisationId, name, isDefault: false, timeZone: 'Europe/Berlin', times: weekly }
      await here.db.insert(queues).values(row)
      await here.db
        .insert(queueChannels)
        .values(channelIds.map((one, position) => ({ organisationId, queueId: id, channelId: one, position })))
      return id
    },
    /** Put a post into a queue, at the time that it has. */
    async enqueue(postId: string, queueId: string): Promise<void> {
      await here.db.update(posts).set({ queueId, queueDate: sql`date` }).where(eq(posts.id, postId))
    },
    /** The queue that a post is in. */
    async queueOf(postId: string): Promise<string | null> {
      const [row] = await here.db.select().from(posts).where(eq(posts.id, postId))
      return row!.queueDate?.getTime() === row!.date?.getTime() ? row!.queueId : null
    },
    /** When a post is due. */
    async dateOf(postId: string): Promise<string> {
      const [row] = await here.db.select().from(posts).where(eq(posts.id, postId))
      return row!.date!.toISOString()
    },
    event: (text: string) => eventOf(page, text),
    freeTimes: () => freeTimesOn(page),
  }
}

/** A post in the grid. */
export function eventOf(page: Page, text: string) {
  return page.locator('main a[href*="post="]', { hasText: text })
}

/** The links of free times, in the grid or in the list. */
export function freeTimesOn(page: Page) {
  return page.locator('main a[href*="queue="]')
}

/** The middle of the cell of a day in the month. */
export async function cellOf(page: Page, date: string): Promise<{ x: number; y: number }> {
  const box = (await page.locator(`[data-date="${date}"]`).first().boundingBox())!
  return { x: box.x + box.width / 2, y: box.y + box.height - 12 }
}

/** The place of a time, on a full or half hour, in the column of a day. */
export async function slotOf(page: Page, date: string, time: string): Promise<{ x: number; y: number }> {
  const column = await restingBox(page.locator(`[data-date="${date}"]`).last())
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return {
    x: column.x + column.width / 2,
    y: column.y + (column.height * (hours * 60 + minutes + 1)) / (24 * 60),
  }
}

// The calendar scrolls to the morning after it is shown.
async function restingBox(of: Locator) {
  let before = await of.boundingBox()
  await expect
    .poll(async () => {
      const [last, now] = [before, await of.boundingBox()]
      before = now
      return now !== null && JSON.stringify(now) === JSON.stringify(last)
    })
    .toBe(true)
  return before!
}

/** Drag a post so that its top comes to a place. */
export async function drag(page: Page, text: string, to: { x: number; y: number }): Promise<void> {
  await expect.poll(() => eventOf(page, text).count()).toBe(1) // a drag before this one has settled
  const box = (await eventOf(page, text).boundingBox())!
  await page.mouse.move(box.x + box.width / 2, box.y + 3)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2 + 8, box.y + 8, { steps: 3 })
  await page.mouse.move(to.x, to.y + 2, { steps: 8 })
  await page.mouse.up()
}
