import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { Link } from '@remix-run/react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { ChannelMark } from '../channels/channel-mark.tsx'
import { PostForm } from '../shell/post-form.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { Began } from '../ui/forms/began.tsx'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { FieldErrors } from '../ui/forms/control.tsx'
import { Field, FormErrors, Said, SelectField } from '../ui/forms/field.tsx'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.form

type Settings = { name: string; timeZone: string; channelIds: string[] }
type QueueFormProps = { intent: 'create' | 'settings'; queue: Settings; channels: Channel[]; zones: string[] }

/** Name, time zone and channels of a queue: a new one or an existing one. */
export function QueueForm({ intent, queue, channels, zones }: QueueFormProps) {
  const { said, ...answered } = useAnswer(intent)
  const [form, fields] = useForm<Settings>({ ...answered, defaultValue: queue })
  return (
    <PostForm {...getFormProps(form)} className="space-y-5">
      <input type="hidden" name="intent" value={intent} />
      <Began intent={intent} values={queue} />
      <FormErrors form={form} />
      <Field label={strings.name} field={fields.name} className="max-w-md" required />
      <div className="max-w-md">
        <SelectField label={strings.timeZone} field={fields.timeZone} hint={strings.timeZoneHint}>
          {zones.map((zone) => (
            <option key={zone}>{zone}</option>
          ))}
        </SelectField>
      </div>
      <ChannelFields channels={channels} field={fields.channelIds} />
      <div className="flex items-center gap-2">
        <Submit look="primary">{intent === 'create' ? strings.create : strings.save}</Submit>
        {intent === 'create' ? (
          <ButtonLink to="/queues" look="quiet">
            {strings.cancel}
          </ButtonLink>
        ) : null}
        <Said>{said}</Said>
      </div>
    </PostForm>
  )
}

function ChannelFields({ channels, field }: { channels: Channel[]; field: FieldMetadata<string[]> }) {
  const chosen = field.initialValue
  return (
    <fieldset aria-describedby={field.errors ? field.errorId : undefined}>
      <legend className="mb-2 text-sm font-medium">{strings.channels}</legend>
      {channels.length === 0 ? <NoChannels /> : null}
      <div className="flex flex-wrap gap-2">
        {channels.map((channel) => (
          <label
            key={channel.id}
            className="flex max-w-full cursor-pointer items-center gap-2.5 rounded-lg border border-line px-3 py-2 has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5"
          >
            <input
              type="checkbox"
              name="channelIds"
              value={channel.id}
              defaultChecked={chosen?.includes(channel.id) ?? false}
              className="size-4 shrink-0 accent-accent"
            />
            <ChannelMark channel={channel} size="size-6" />
            <span className="min-w-0 text-sm [overflow-wrap:anywhere]">{channel.name}</span>
          </label>
        ))}
      </div>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </fieldset>
  )
}

/** Leads to the page on which channels are connected. */
export function NoChannels() {
  const { noChannels, connect } = queueStrings.none
  const link = (
    <Link to="/channels" className="underline">
      {connect}
    </Link>
  )
  return <p className="text-sm text-muted">{noChannels(link)}</p>
}
