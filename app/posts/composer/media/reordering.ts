import { type PointerEvent, useRef, useState } from 'react'

type Drag = { from: number; to: number; startY: number; by: number; middles: number[]; height: number }

/**
 * Reorders the rows of a list by dragging their handles, with a mouse, a pen or a finger. `move` is called once, when a
 * row is let go. The rows move in the document only then, or the handle would lose the pointer.
 */
export function useReordering(move: (from: number, to: number) => void) {
  const list = useRef<HTMLUListElement>(null)
  const [drag, setDrag] = useState<Drag | null>(null)

  function start(event: PointerEvent<HTMLElement>, from: number) {
    if (event.button !== 0) return
    event.preventDefault() // no text is selected meanwhile
    event.currentTarget.setPointerCapture(event.pointerId)
    const boxes = [...(list.current?.children ?? [])].map((row) => row.getBoundingClientRect())
    const middles = boxes.map(({ top, height }) => top + height / 2 + window.scrollY)
    const height = boxes[from]!.height
    setDrag({ from, to: from, startY: event.clientY + window.scrollY, by: 0, middles, height })
  }

  function follow({ clientY }: PointerEvent) {
    if (!drag) return
    const by = clientY + window.scrollY - drag.startY
    const middle = drag.middles[drag.from]! + by
    const to = drag.middles.filter((other, index) => index !== drag.from && other < middle).length
    setDrag({ ...drag, by, to })
  }

  function drop() {
    if (drag && drag.from !== drag.to) move(drag.from, drag.to)
    setDrag(null)
  }

  const handle = (index: number) => ({
    onPointerDown: (event: PointerEvent<HTMLElement>) => start(event, index),
    onPointerMove: follow,
    onPointerUp: drop,
    onPointerCancel: () => setDrag(null),
  })
  return { list, handle, shiftOf: (index: number) => (drag ? shiftIn(drag, index) : 0), dragged: drag?.from ?? null }
}

/** By how many pixels a row is away from its place while another, or itself, is dragged. */
function shiftIn({ from, to, by, height }: Drag, index: number): number {
  if (index === from) return by
  if (index > from && index <= to) return -height
  return index < from && index >= to ? height : 0
}
