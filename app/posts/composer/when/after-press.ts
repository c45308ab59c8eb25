import { useEffect, useRef } from 'react'

/**
 * Returns what calls a function: at once, or while a mouse button or a finger is down, after its click. A press
 * on a button moves the focus out of a field. If the page moved the button then, the click would be lost.
 */
export function useAfterPress(): (does: () => void) => void {
  const isDown = useRef(false)
  const waiting = useRef<(() => void) | null>(null)

  useEffect(() => {
    const stop = new AbortController()
    const on = (names: string[], hears: () => void) => {
      for (const name of names) window.addEventListener(name, hears, { capture: true, signal: stop.signal })
    }
    // After a tap, browsers also send the events of a mouse, and the focus moves only then.
    on(['pointerdown', 'mousedown'], () => {
      isDown.current = true
    })
    on(['pointerup', 'pointercancel', 'mouseup'], () => {
      isDown.current = false
      setTimeout(() => {
        if (isDown.current) return
        waiting.current?.()
        waiting.current = null
      })
    })
    return () => stop.abort()
  }, [])

  return (does) => {
    if (isDown.current) waiting.current = does
    else does()
  }
}
