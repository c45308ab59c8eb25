import type { ReactNode } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { textAreaClass } from '../../../ui/forms/control.tsx'
import { composerStrings } from '../strings.tsx'
import { altName } from '../typed.ts'
import type { Picked } from '../uploads.ts'

const strings = composerStrings.media
const LengthAtMost = 1500 // of every file (server/media/forms.ts)

type Props = {
  file: Picked
  channels: Channel[]
  onDescribe: (alt: string) => void
  isWrong: boolean
  problemsId: string
  on?: string // the only channel that has the file: two of them may have a field for it
  children?: ReactNode // beside the label
}

/** What a file shows, for people who can't see it, with its length on the channel that accepts least. */
export function AltField({ file, channels, onDescribe, isWrong, problemsId, on = '', children }: Props) {
  const { id, kind, alt } = file
  const [fieldId, lengthId] = [`alt-${id}${on}`, `length-${id}${on}`]
  const { limit, channel } = shortestOf(channels)
  const length = Array.from(alt).length // as jobs/networks/check.ts counts
  const isTooLong = length > limit
  return (
    <>
      <div className="mb-1 flex items-center">
        <label htmlFor={fieldId} className="min-w-0 flex-1 text-sm font-medium">
          {strings.altText}
        </label>
        {children}
      </div>
      <textarea
        id={fieldId}
        name={altName(id)}
        dir="auto"
        rows={2}
        value={alt}
        onChange={(event) => onDescribe(event.currentTarget.value)}
        maxLength={LengthAtMost}
        aria-invalid={isWrong || isTooLong ? true : undefined}
        aria-describedby={`${lengthId} ${problemsId}`}
        placeholder={kind === 'video' ? strings.describeVideo : strings.describeImage}
        className={`${textAreaClass} resize-y`}
      />
      <p
        id={lengthId}
        className={`mt-1 text-right text-xs tabular-nums empty:hidden ${isTooLong ? 'text-bad' : 'text-muted'}`}
      >
        {isTooLong ? strings.altTooLong(channel, length - limit) : length > 0 ? strings.altLength(length, limit) : ''}
      </p>
    </>
  )
}

function shortestOf(channels: Channel[]): { limit: number; channel: string } {
  return channels
    .map(({ name, limits }) => ({ channel: name, limit: limits.altLength ?? LengthAtMost }))
    .reduce((least, one) => (one.limit < least.limit ? one : least), { channel: '', limit: LengthAtMost })
}
