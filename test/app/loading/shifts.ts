import type { Page } from '@playwright/test'
import { expect } from 'vitest'

export const ShiftAtMost = 0.01 // Google calls 0.1 good

type Watched = { shift?: number }

/** Add up all layout shifts of each page that is opened from now on (https://web.dev/articles/cls). */
export async function watchShifts(where: Page): Promise<void> {
  await where.addInitScript(() => {
    const watched = window as Watched
    watched.shift = 0
    const add = (list: PerformanceObserverEntryList) => {
      for (const entry of list.getEntries()) watched.shift! += (entry as PerformanceEntry & { value: number }).value
    }
    new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })
  })
}

/** Resolves once nothing more loads, and the calendar, if the page has one, is shown and was painted some times. */
export async function untilDrawn(where: Page): Promise<void> {
  await where.waitForLoadState('networkidle')
  await expect.poll(() => where.locator('main .calendar-waits, main .invisible').count()).toBe(0)
  await where.evaluate(async () => {
    for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame)
  })
}

/** How far the page that is open has moved since its first paint. */
export function shiftOf(where: Page): Promise<number> {
  return where.evaluate(() => (window as Watched).shift!)
}
