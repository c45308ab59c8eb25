import { useDeferredValue } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { FieldErrors, textAreaClass } from '../../ui/forms/control.tsx'
import { Counters } from './checks/counters.tsx'
import { composerStrings } from './strings.tsx'

type TextProps = {
  text: string
  onChange: (text: string) => void
  channels: Channel[] // that get this text
  problems: string[] | undefined
}

/** The text for all channels that have none of their own. */
export function TextField({ text, onChange, channels, problems }: TextProps) {
  return (
    <div>
      <label htmlFor="content" className="mb-1.5 block text-sm font-medium">
        {composerStrings.text.label}
      </label>
      <textarea
        id="content"
        name="content"
        dir="auto"
        rows={7}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        aria-invalid={problems ? true : undefined}
        aria-describedby="content-counters content-problems"
        className={`${textAreaClass} resize-y`}
      />
      <FieldErrors id="content-problems" errors={problems} />
      <Counters id="content-counters" channels={channels} text={useDeferredValue(text)} />
    </div>
  )
}
