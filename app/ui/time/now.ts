const ToleratedMs = 60_000 // a document is under way for some seconds, and no clock is quite right

let aheadMs = 0 // of the browser's clock, how far the server's is

/** What the clock of the server shows, in ms. That of a browser may be hours off, and posts go out by the server's. */
export function nowMs(): number {
  return Date.now() + aheadMs
}

/** Compare the browser's clock with the time that the document tells, once, before the page is interactive. */
export function noteServersClock(): void {
  const sentAt = Date.parse(document.querySelector<HTMLMetaElement>('meta[name="now"]')?.content ?? '')
  const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const receivedAt = Date.now() - (performance.now() - (loaded?.responseStart ?? 0))
  const ahead = sentAt - receivedAt
  aheadMs = Math.abs(ahead) > ToleratedMs ? ahead : 0
}
