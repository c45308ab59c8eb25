import { useRef } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import type { Override } from '../../../../jobs/ledger/post-view.ts'
import { FieldErrors, textAreaClass } from '../../../ui/forms/control.tsx'
import type { Fields } from '../../working-copy/fields.ts'
import { Counters } from '../checks/counters.tsx'
import { composerStrings } from '../strings.tsx'
import { ownMediaName, ownTextName } from '../typed.ts'
import type { Uploads } from '../uploads.ts'
import type { Own } from './overrides.ts'
import { BeginButton, SharedButton, useFocusAfterPress } from './own-buttons.tsx'
import { OwnMedia } from './own-media.tsx'

const strings = composerStrings.own

/** The composer's fields, and what changes the text or media of one channel in them. */
export type Owning = {
  fields: Fields
  uploads: Uploads
  onOwn: (channelId: string, own: Own) => void
  onDescribe: (fileId: string, alt: string) => void
}

type Props = Owning & { channel: Channel; problems: Record<string, string[]> }

/** The text and the media that a chosen channel has of its own, or the buttons that begin them. */
export function OwnParts({ channel, fields, uploads, onOwn, onDescribe, problems }: Props) {
  const own = fields.overrides.find(({ channelId }) => channelId === channel.id)
  const onChange = (change: Own) => onOwn(channel.id, change)
  return (
    <div className="flex flex-wrap gap-x-2 gap-y-3 border-t border-line px-2.5 py-2">
      <OwnText
        channel={channel}
        own={own}
        shared={fields.content}
        onChange={(content) => onChange({ content })}
        problems={problems[ownTextName(channel.id)]}
      />
      <OwnMedia
        channel={channel}
        fields={fields}
        uploads={uploads}
        mediaIds={own?.mediaIds}
        onChange={(mediaIds) => onChange({ mediaIds })}
        onDescribe={onDescribe}
        problems={problems[ownMediaName(channel.id)]}
      />
    </div>
  )
}

type TextProps = {
  channel: Channel
  own: Override | undefined
  shared: string
  onChange: (text: string | undefined) => void
  problems: string[] | undefined
}

function OwnText({ channel, own, shared, onChange, problems }: TextProps) {
  const text = own?.content
  const last = useRef<string>() // comes back when the person changes their mind
  const place = useFocusAfterPress(text !== undefined)
  if (text === undefined)
    return (
      <span ref={place.on}>
        <BeginButton channelId={channel.id} onClick={place.pressed(() => onChange(last.current ?? shared))}>
          {strings.writeText}
        </BeginButton>
      </span>
    )
  const end = () => {
    last.current = text
    onChange(undefined)
  }
  return (
    <div ref={place.on} className="w-full">
      <OwnTextField channel={channel} text={text} onChange={onChange} problems={problems} />
      <SharedButton channelId={channel.id} onClick={place.pressed(end)}>
        {strings.useSharedText}
      </SharedButton>
    </div>
  )
}

type FieldProps = Omit<TextProps, 'own' | 'shared'> & { text: string }

function OwnTextField({ channel, text, onChange, problems }: FieldProps) {
  const name = ownTextName(channel.id)
  return (
    <>
      <label htmlFor={name} className="mb-1.5 block break-words text-sm font-medium">
        {strings.text(<bdi>{channel.name}</bdi>)}
      </label>
      <textarea
        id={name}
        name={name}
        dir="auto"
        rows={4}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        aria-invalid={problems ? true : undefined}
        aria-describedby={`${name}-problems count-${channel.id}`}
        className={`${textAreaClass} resize-y`}
      />
      <FieldErrors id={`${name}-problems`} errors={problems} />
      <Counters id={`count-${channel.id}`} channels={[channel]} text={text} />
    </>
  )
}
