import type { Page } from '@playwright/test'

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

/** How far the page that is open has moved since its first paint. */
export function shiftOf(where: Page): Promise<number> {
  return where.evaluate(() => (window as Watched).shift!)
}
