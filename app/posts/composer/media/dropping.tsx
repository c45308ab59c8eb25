import { ImagePlus } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { composerStrings } from '../strings.tsx'

type OnFiles = (files: File[], channelId: string | null) => void

const strings = composerStrings.media

/**
 * Takes files that are dropped on the page or pasted into the form, and shows over the form that it takes them. Without
 * it, a browser would leave the page for a dropped file. What is dropped or pasted on a part with `takesFilesFor` is
 * only for that channel.
 */
export function Dropping({ onFiles }: { onFiles: OnFiles }) {
  const [isOver, setIsOver] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const take = useRef(onFiles)
  take.current = onFiles

  useEffect(() => {
    const form = place.current!.closest('form')!
    return listen(form, setIsOver, (...given) => take.current(...given))
  }, [])
  useEffect(() => {
    place.current!.closest('form')!.toggleAttribute('data-dropping', isOver) // shows each DropHere
  }, [isOver])

  return (
    <div ref={place} className="contents">
      <DropHere className="inset-0 z-10 rounded-2xl">{strings.dropHere}</DropHere>
    </div>
  )
}

/** Lies over the place that takes files while some are dragged over the page. The form is its `group/form`. */
export function DropHere({ className, children }: { className: string; children: ReactNode }) {
  return (
    <div
      className={`pointer-events-none absolute hidden place-items-center border-2 border-dashed border-accent-ink bg-panel/90 group-data-[dropping]/form:grid ${className}`}
    >
      <p className="flex items-center gap-2 px-2 text-center font-medium text-accent-ink [overflow-wrap:anywhere]">
        <ImagePlus aria-hidden className="size-5 shrink-0" />
        <span>{children}</span>
      </p>
    </div>
  )
}

/** Props of a part of the form whose files are only for one channel. */
export function takesFilesFor(channelId: string) {
  return { 'data-files-for': channelId }
}

function channelOf({ target }: Event): string | null {
  const part = target instanceof Element ? target.closest<HTMLElement>('[data-files-for]') : null
  return part?.dataset.filesFor ?? null
}

/** Returns what stops it. */
function listen(form: HTMLFormElement, onOver: (isOver: boolean) => void, take: OnFiles): () => void {
  const over = (event: DragEvent) => {
    if (!hasFiles(event)) return
    event.preventDefault()
    onOver(true)
  }
  const leave = ({ relatedTarget }: DragEvent) => {
    if (relatedTarget === null) onOver(false) // out of the window
  }
  const drop = (event: DragEvent) => {
    onOver(false)
    if (!hasFiles(event)) return
    event.preventDefault()
    take([...event.dataTransfer!.files], channelOf(event))
  }
  const paste = (event: ClipboardEvent) => take(pastedMedia(event.clipboardData), channelOf(event))
  const stop = new AbortController()
  window.addEventListener('dragover', over, stop)
  window.addEventListener('dragleave', leave, stop)
  window.addEventListener('drop', drop, stop)
  form.addEventListener('paste', paste, stop)
  return () => stop.abort()
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') ?? false
}

// Office programs paste a picture of the text along with the text. The person wants the text.
function pastedMedia(data: DataTransfer | null): File[] {
  const types = data?.types ?? []
  if (types.includes('text/plain') && types.includes('text/html')) return []
  return [...(data?.files ?? [])].filter(({ type }) => /^(image|video)\//.test(type))
}
