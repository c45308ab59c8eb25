import { useEffect, useState } from 'react'
import { instantOf, isShownTwice } from '../../../../jobs/wall-clock.ts'
import { controlClass } from '../../../ui/forms/control.tsx'
import { nowMs } from '../../../ui/time/now.ts'
import { clockAt, inFull, nextHour, offsetAt } from '../../../ui/time/time-zone.ts'
import { composerStrings } from '../strings.tsx'
import { suggestedValue, type Wall } from '../typed.ts'
import { LeavesQueue } from './leaves-queue.tsx'
import { PhraseField } from './phrase-field.tsx'
import { WhenProblems } from './when-problems.tsx'

const strings = composerStrings.date
const SlackMs = 60_000 // server/posts/post-checks.ts accepts a time that is this much in the past

type WhenProps = {
  wall: Wall
  zone: string
  isSuggested: boolean // by the page. Nobody has chosen it
  onChange: (change: Partial<Wall>) => void
  onSuggest: (wall: Wall) => void
  problems: Record<string, string[]>
}

/** Date and time on a clock in `zone`, with the name of that zone, and a field for them in words. */
export function When({ wall, zone, isSuggested, onChange, onSuggest, problems }: WhenProps) {
  const now = useNow()
  const isOver = isPast(instantOf(wall.date, wall.time, zone), now)
  useEffect(() => {
    if (isSuggested && isOver) onSuggest(nextHour(zone))
  })
  const [phrase, setPhrase] = useState('')
  const change = (part: Partial<Wall>) => {
    setPhrase('') // it would say another time
    onChange(part)
  }
  const part = (name: keyof Wall) => ({ name, value: wall[name], isSuggested, problems: problems[name] })
  // A refusal says that the time is in the past.
  const isRefused = problems.date !== undefined || problems.time !== undefined
  return (
    <div>
      <input type="hidden" name="zone" value={zone} />
      {isSuggested ? <input type="hidden" name="suggested" value={suggestedValue(wall)} /> : null}
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-[minmax(0,1fr)_10.5rem_9rem]">
        <PhraseField phrase={phrase} onPhrase={setPhrase} zone={zone} time={wall.time} onUnderstood={onChange} />
        <Part label={strings.date} {...part('date')} onChange={change} />
        <Part label={strings.time} {...part('time')} onChange={change} />
        <LeavesQueue zone={zone} />
      </div>
      <div id="when-zone" role="status" className="mt-1.5 text-sm text-muted">
        <Meaning wall={wall} zone={zone} isSuggested={isSuggested} isPast={isOver && !isRefused} />
      </div>
    </div>
  )
}

type PartProps = {
  label: string
  name: keyof Wall
  value: string
  isSuggested: boolean
  onChange: (change: Partial<Wall>) => void
  problems: string[] | undefined
}

function Part({ label, name, value, isSuggested, onChange, problems }: PartProps) {
  return (
    <>
      <div className="min-w-0">
        <label htmlFor={`when-${name}`} className="mb-1.5 block text-sm font-medium">
          {label}
        </label>
        <input
          id={`when-${name}`}
          type={name}
          name={name}
          value={value}
          onChange={(event) => onChange({ [name]: event.currentTarget.value })}
          aria-invalid={problems ? true : undefined}
          aria-describedby={`when-zone when-${name}-problems`}
          className={`${controlClass} ${isSuggested ? '!text-muted' : ''}`}
        />
      </div>
      <WhenProblems id={`when-${name}-problems`} problems={problems} />
    </>
  )
}

function isPast(instant: Date | null, now: number | null): boolean {
  return instant !== null && now !== null && instant.getTime() < now - SlackMs
}

type MeaningProps = { wall: Wall; zone: string; isSuggested: boolean; isPast: boolean }

/** Date and time in full, and a warning if they are skipped, shown twice or in the past. */
function Meaning({ wall: { date, time }, zone, isSuggested, isPast }: MeaningProps) {
  const instant = instantOf(date, time, zone)
  if (!instant) return zone
  const offset = offsetAt(instant, zone)
  const shown = clockAt(instant, zone).time
  const odd = [
    shown === time ? '' : strings.skipped(shown),
    isShownTwice(date, time, zone) ? strings.twice(offset) : '',
    isPast ? strings.past : '',
  ].filter(Boolean)
  const full = zone === 'UTC' ? inFull(instant, zone) : `${inFull(instant, zone)}, ${offset}`
  return (
    <>
      <p>{isSuggested ? strings.suggested(full) : full}</p>
      {odd.map((sentence) => (
        <p key={sentence} className="text-warn">
          {sentence}
        </p>
      ))}
    </>
  )
}

// Null on the server, whose page may be read later.
function useNow(): number | null {
  const [now, setNow] = useState<number | null>(null)
  useEffect(() => {
    const look = () => setNow(nowMs())
    look()
    const timer = setInterval(look, 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
