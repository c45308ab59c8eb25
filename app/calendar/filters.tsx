import { Form, useSearchParams, useSubmit } from '@remix-run/react'
import { type FormEvent, type ReactNode, useEffect, useRef } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { postStrings } from '../posts/strings.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { controlClass } from '../ui/forms/control.tsx'
import { asksForFreeTimes } from './address.ts'
import { calendarStrings } from './strings.tsx'

const strings = calendarStrings.filters

type FiltersProps = { channels: Channel[]; tags: string[]; hasQueues: boolean }

/** A plain form that loads the calendar again, with scripts at each choice. */
export function Filters({ channels, tags, hasQueues }: FiltersProps) {
  const [query] = useSearchParams()
  const submit = useSubmit()
  const keepFocus = useFocusAfter(query.toString())
  const [tag, channel] = [query.get('tag') ?? '', query.get('channel') ?? '']
  const choose = (event: FormEvent<HTMLFormElement>) => {
    keepFocus(event.target as HTMLElement)
    submit(event.currentTarget, { preventScrollReset: true })
  }
  return (
    <Form
      key={query.toString()}
      aria-label={strings.label}
      onChange={choose}
      className="mb-4 grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap"
    >
      {['view', 'date'].map((name) =>
        query.get(name) ? <input key={name} type="hidden" name={name} value={query.get(name)!} /> : null,
      )}
      <Choice name="channel" label={strings.channel} all={strings.allChannels} value={channel}>
        {channels.map(({ id, name }) => (
          <Option key={id} value={id} name={name} />
        ))}
        {channel === '' || channels.some(({ id }) => id === channel) ? null : (
          <Option value={channel} name={strings.notListed} />
        )}
      </Choice>
      <Choice name="status" label={strings.status} all={strings.allStatuses} value={query.get('status')}>
        {Object.entries(postStrings.statuses).map(([status, name]) => (
          <Option key={status} value={status} name={name} />
        ))}
      </Choice>
      <Choice name="tag" label={strings.tag} all={strings.allTags} value={tag}>
        {[...tags, ...(tag === '' || tags.includes(tag) ? [] : [tag])].map((one) => (
          <Option key={one} value={one} name={one} />
        ))}
      </Choice>
      {hasQueues ? <FreeTimesChoice isChosen={asksForFreeTimes(query)} /> : null}
      <Submit>{strings.show}</Submit>
    </Form>
  )
}

/** The form is new after each choice. The field that was used gets the focus again, unless it is elsewhere by now. */
function useFocusAfter(shown: string): (field: HTMLElement) => void {
  const used = useRef<string>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is new when something else is shown
  useEffect(() => {
    const isLost = document.activeElement === document.body
    if (used.current && isLost) document.getElementById(used.current)?.focus({ preventScroll: true })
    used.current = undefined
  }, [shown])
  return ({ id }) => {
    used.current = id
  }
}

function Option({ value, name }: { value: string; name: string }) {
  return <option value={value}>{name}</option>
}

type ChoiceProps = { name: string; label: string; all: string; value: string | null; children: ReactNode }

function Choice({ name, label, all, value, children }: ChoiceProps) {
  return (
    <div className="min-w-0 sm:w-44">
      <label htmlFor={`calendar-${name}`} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <select id={`calendar-${name}`} name={name} defaultValue={value ?? ''} className={`${controlClass} pr-8`}>
        <option value="">{all}</option>
        {children}
      </select>
    </div>
  )
}

// A box that is not checked sends nothing, so the form says first that it is not.
function FreeTimesChoice({ isChosen }: { isChosen: boolean }) {
  return (
    <div className="min-w-0">
      <input type="hidden" name="free" value="0" />
      <label className="flex min-h-10 items-center gap-2 text-sm font-medium">
        <input
          id="calendar-free"
          type="checkbox"
          name="free"
          value="1"
          defaultChecked={isChosen}
          className="size-4 shrink-0 accent-accent"
        />
        {strings.freeTimes}
      </label>
    </div>
  )
}
