import { Link } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { Button } from '../../../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../../../ui/forms/control.tsx'
import { composerStrings } from '../strings.tsx'
import type { Answer } from './send-file.ts'

const strings = composerStrings.media

type Props = { onAdd: (url: string) => Promise<Answer | null> }

/** A field for the address of a file that the server fetches. `onAdd` resolves with null when that was cancelled. */
export function FromLink({ onAdd }: Props) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)} className="scripted">
        <Link aria-hidden />
        {strings.addLink}
      </Button>
      {isOpen ? <LinkField onAdd={onAdd} /> : null}
    </>
  )
}

function LinkField({ onAdd }: Props) {
  const [url, setUrl] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isFetching, setIsFetching] = useState(false)
  const field = useRef<HTMLInputElement>(null)

  async function add() {
    if (isFetching) return
    setIsFetching(true)
    const answer = url.trim() ? await onAdd(url.trim()) : { problem: strings.noLink }
    setIsFetching(false)
    setProblem(answer?.problem ?? null)
    if (answer?.problem) field.current?.focus()
    else if (answer) setUrl('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    void add()
  }

  return (
    <div className="w-full">
      <label htmlFor="media-link" className="mb-1 block text-sm font-medium">
        {strings.link}
      </label>
      <div className="flex gap-2">
        <input
          ref={field}
          id="media-link"
          type="url"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          placeholder="https://"
          aria-invalid={problem ? true : undefined}
          aria-describedby="media-link-problems"
          className={controlClass}
        />
        <Button onClick={() => void add()} aria-disabled={isFetching || undefined} className="shrink-0">
          {strings.addThisLink}
        </Button>
      </div>
      <FieldErrors id="media-link-problems" errors={problem ? [problem] : undefined} />
    </div>
  )
}
