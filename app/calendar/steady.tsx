import { type ReactNode, useEffect, useRef, useState } from 'react'

const SteadyFrames = 3
const WaitMs = 1000

/**
 * Hides its children until their cells stop moving: FullCalendar draws rows, measures them and draws again. A new `key`
 * hides them again.
 */
export function Steady({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [isSteady, setSteady] = useState(false)
  useEffect(() => whenSteady(box.current!, () => setSteady(true)), [])
  return (
    <div ref={box} className={isSteady ? '' : 'invisible'}>
      {children}
    </div>
  )
}

/** Calls `done` once the cells in `box` have had their places for three frames, or after a second. Returns how to stop. */
function whenSteady(box: HTMLElement, done: () => void): () => void {
  const begun = performance.now()
  let before = ''
  let frames = 0
  const look = () => {
    const places = placesIn(box)
    frames = places === before ? frames + 1 : 0
    before = places
    if (frames >= SteadyFrames || performance.now() - begun > WaitMs) return done()
    next = requestAnimationFrame(look)
  }
  let next = requestAnimationFrame(look)
  return () => cancelAnimationFrame(next)
}

// Of each cell inside the box, wherever the page is scrolled to.
function placesIn(box: HTMLElement): string {
  const { left, top, height } = box.getBoundingClientRect()
  const cells = [...box.querySelectorAll('[data-date], [data-time]')].map((cell) => {
    const place = cell.getBoundingClientRect()
    return [place.left - left, place.top - top, place.width, place.height].map(Math.round)
  })
  return JSON.stringify([Math.round(height), cells])
}
