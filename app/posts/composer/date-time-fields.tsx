import { instantOf } from '../../../jobs/wall-clock.ts'
import { useZone } from '../../shell/account.ts'
import { controlClass, FieldErrors } from '../../ui/forms/control.tsx'
import { clockAt, offsetAt } from '../../ui/time-zone.ts'
import { composerStrings } from './strings.tsx'

const strings = composerStrings.date

type WhenProps = {
  date: string
  time: string
  onChange: (change: { date: string } | { time: string }) => void
  problems: Record<string, string[]>
}

/** Date and time in the person's time zone, with the name of that zone. */
export function When({ date, time, onChange, problems }: WhenProps) {
  const zone = useZone()
  return (
    <div>
      <div className="grid grid-cols-2 gap-3 sm:max-w-sm">
        <Part
          label={strings.date}
          name="date"
          value={date}
          onChange={(date) => onChange({ date })}
          problems={problems.date}
        />
        <Part
          label={strings.time}
          name="time"
          value={time}
          onChange={(time) => onChange({ time })}
          problems={problems.time}
        />
      </div>
      <p id="when-zone" className="mt-1.5 text-sm text-muted">
        {zoneHint(date, time, zone)}
      </p>
    </div>
  )
}

type PartProps = {
  label: string
  name: 'date' | 'time'
  value: string
  onChange: (value: string) => void
  problems: string[] | undefined
}

function Part({ label, name, value, onChange, problems }: PartProps) {
  return (
    <div>
      <label htmlFor={`when-${name}`} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      <input
        id={`when-${name}`}
        type={name}
        name={name}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        aria-invalid={problems ? true : undefined}
        aria-describedby={`when-zone when-${name}-problems`}
        className={controlClass}
      />
      <FieldErrors id={`when-${name}-problems`} errors={problems} />
    </div>
  )
}

function zoneHint(date: string, time: string, zone: string): string {
  const instant = instantOf(date, time, zone)
  if (!instant) return zone
  const shown = clockAt(instant, zone)
  const offset = offsetAt(instant, zone)
  return shown.time === time ? strings.zone(zone, offset) : strings.skipped(zone, offset, shown.time)
}
