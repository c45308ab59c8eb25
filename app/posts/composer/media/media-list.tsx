import { useEffect, useRef, useState } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { composerStrings } from '../strings.tsx'
import type { Picked } from '../uploads.ts'
import { MediaField } from './media-field.tsx'
import { useReordering } from './reordering.ts'

const strings = composerStrings.media

type Props = {
  media: Picked[]
  channels: Channel[]
  problems: Record<string, string[]>
  onMove: (id: string, to: number) => void
  onDescribe: (id: string, alt: string) => void
  onRemove: (id: string) => void
}

/** The files of the post in their order, which can be changed by dragging and by buttons. */
export function MediaList({ media, channels, problems, onMove, onDescribe, onRemove }: Props) {
  const { said, move } = useMoves(media, onMove)
  const { list, handle, shiftOf, dragged } = useReordering((from, to) => move(media[from]!.id, to))
  return (
    <>
      <ul ref={list} className="space-y-3 empty:hidden">
        {media.map((file, index) => (
          <li
            key={file.id}
            style={dragged === null ? undefined : { transform: `translateY(${shiftOf(index)}px)` }}
            className={dragged === index ? 'relative z-10 rounded-xl shadow-lg' : ''}
          >
            <MediaField
              file={file}
              index={index}
              count={media.length}
              channels={channels}
              handle={handle(index)}
              onDescribe={(alt) => onDescribe(file.id, alt)}
              onMove={(to) => move(file.id, to)}
              onRemove={() => onRemove(file.id)}
              problems={problems[file.id]}
            />
          </li>
        ))}
      </ul>
      <p role="status" className="sr-only">
        {said}
      </p>
    </>
  )
}

// Says where a file is now. A button that was pressed keeps the focus, which it loses when its row moves in the document.
function useMoves(media: Picked[], onMove: Props['onMove']) {
  const [said, setSaid] = useState('')
  const pressed = useRef<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows moved
  useEffect(() => {
    if (pressed.current) document.getElementById(pressed.current)?.focus()
    pressed.current = null
  }, [media])
  const move = (id: string, to: number) => {
    pressed.current = document.activeElement?.id || null
    setSaid(strings.moved(to + 1, media.length))
    onMove(id, to)
  }
  return { said, move }
}
