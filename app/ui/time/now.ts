// The document takes some seconds to arrive, and clocks are never exact.
const ToleratedMs = 60_000

let aheadMs = 0 // how far the server's clock is ahead of the browser's
let pageBegan = 0 // by the browser's clock

/**
 * What the server's clock shows, in ms: posts go out by it, and a browser's may be hours off. Once the browser's clock was
 * set while the page was open, it is believed until the next document.
 */
export function nowMs(): number {
  const isSet = Math.abs(pageBeganAt() - pageBegan) > ToleratedMs
  return Date.now() + (isSet ? 0 : aheadMs)
}

/** Compare the browser's clock with the time that the document tells, once, before the page is interactive. */
export function noteServersClock(): void {
  const sentAt = Date.parse(document.querySelector<HTMLMetaElement>('meta[name="now"]')?.content ?? '')
  const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  pageBegan = pageBeganAt()
  const ahead = sentAt - (pageBegan + (loaded?.responseStart ?? 0))
  aheadMs = Math.abs(ahead) > ToleratedMs ? ahead : 0
}

// It differs later if the browser's clock was set, or if the machine slept: some browsers do not count that time.
function pageBeganAt(): number {
  return Date.now() - performance.now()
}
