import { type ReactNode, useEffect, useRef, useState } from 'react'

const StillFrames = 3
const FramesAtMost = 60

/**
 * Children that are shown once their cells stay where they are. FullCalendar draws its rows before it has measured them,
 * so that what is shown at once moves under the eyes. Give it another `key` when what it shows is drawn anew.
 */
export function Settled({ children }: { children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null)
  const [isSettled, setSettled] = useState(false)
  useEffect(() => whenStill(frame.current!, () => setSettled(true)), [])
  return (
    <div ref={frame} className={isSettled ? '' : 'invisible'}>
      {children}
    </div>
  )
}

/** Calls `done` once the days inside have been in their places for some frames. Returns how to stop waiting. */
function whenStill(inside: HTMLElement, done: () => void): () => void {
  let before = ''
  let still = 0
  let frames = 0
  const look = () => {
    const now = placesIn(inside)
    still = now === before ? still + 1 : 0
    before = now
    frames += 1
    if (still >= StillFrames || frames >= FramesAtMost) return done()
    next = requestAnimationFrame(look)
  }
  let next = requestAnimationFrame(look)
  return () => cancelAnimationFrame(next)
}

function placesIn(inside: HTMLElement): string {
  const places = [...inside.querySelectorAll('[data-date], [data-time]')].map((cell) => cell.getBoundingClientRect())
  return JSON.stringify([inside.offsetHeight, ...places])
}
