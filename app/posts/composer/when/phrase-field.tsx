import { useRef, useState } from 'react'
import { controlClass } from '../../../ui/forms/control.tsx'
import { nowMs } from '../../../ui/time/now.ts'
import { useBrowserEffect } from '../../working-copy/use-working-copy.ts'
import { composerStrings } from '../strings.tsx'
import type { Wall } from '../typed.ts'
import { useAfterPress } from './after-press.ts'
import { readPhrase } from './phrase.ts'
import { WhenProblems } from './when-problems.tsx'

const strings = composerStrings.date

type Props = {
  phrase: string
  onPhrase: (phrase: string) => void
  zone: string
  time: string // of a phrase without one
  onUnderstood: (wall: Wall) => void
}

/** A time in words. What it means is filled into the fields Date and Time at once, and is said below them. */
export function PhraseField({ phrase, onPhrase, zone, time, onUnderstood }: Props) {
  const [problem, setProblem] = useState<string | null>(null)
  const [usual, setUsual] = useState(time)
  const afterPress = useAfterPress()

  function write(text: string) {
    onPhrase(text)
    setProblem(null)
    const read = readPhrase(text, new Date(nowMs()), zone, usual || undefined)
    if (read && read !== 'past') onUnderstood(read)
  }
  // What was typed before the page was interactive: React leaves it in the field and does not know it.
  const field = useRef<HTMLInputElement>(null)
  useBrowserEffect(() => {
    if (field.current!.value !== phrase) write(field.current!.value)
  }, [])

  // Only when the field is left: a half-written time is not an error.
  function check() {
    const read = phrase.trim() === '' ? undefined : readPhrase(phrase, new Date(nowMs()), zone)
    setProblem(read === null ? strings.notUnderstood : read === 'past' ? strings.dayIsOver : null)
  }

  // The composer sends nothing for a time that it would only guess.
  const read = phrase.trim() === '' ? undefined : readPhrase(phrase, new Date(nowMs()), zone, usual || undefined)
  return (
    <>
      <div className="scripted col-span-2 min-w-0 sm:col-span-1">
        <label htmlFor="when-phrase" className="mb-1.5 block text-sm font-medium">
          {strings.when}
        </label>
        <input
          ref={field}
          id="when-phrase"
          value={phrase}
          onFocus={() => setUsual(time)}
          onChange={(event) => write(event.currentTarget.value)}
          onBlur={() => afterPress(check)}
          placeholder={strings.whenExample}
          data-misread={read === null || read === 'past' ? true : undefined}
          aria-invalid={problem && phrase ? true : undefined}
          aria-describedby="when-zone when-phrase-problems"
          className={controlClass}
        />
      </div>
      <WhenProblems id="when-phrase-problems" problems={problem && phrase ? [problem] : undefined} />
    </>
  )
}
