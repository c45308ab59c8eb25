import { Form, useLoaderData } from '@remix-run/react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { PostStatus } from '../../../jobs/ledger/post-view.ts'
import { useZone } from '../../shell/account.ts'
import { ButtonLink, Submit } from '../../ui/forms/button.tsx'
import { FieldErrors } from '../../ui/forms/control.tsx'
import { FilterInput, FilterSelect } from '../../ui/forms/filter-fields.tsx'
import { postStrings } from '../strings.tsx'
import { findStrings as strings } from './strings.ts'

type Shown = {
  asked: Record<string, string>
  faults: { path: string; message: string }[]
  channels: Channel[]
  authors: { id: string; name: string }[]
  tags: string[]
  queues: { id: string; name: string }[]
}

/** A plain form that loads the page again: what was found can be saved and shared as a link. */
export function FindForm() {
  const { asked, faults } = useLoaderData<Shown>()
  const general = faults.filter(({ path }) => !(path in asked)).map(({ message }) => message)
  return (
    // The key resets what was typed and not sent when the page shows other posts.
    <Form
      key={JSON.stringify(asked)}
      role="search"
      className="mb-6 space-y-4 rounded-2xl border border-line bg-panel p-4 shadow-sm sm:p-5"
    >
      <div>
        <FilterInput name="words" label={strings.words} type="search" dir="auto" maxLength={200} />
        <p className="mt-1.5 text-sm text-muted">{strings.wordsHint}</p>
      </div>
      <Filters />
      <div className="flex gap-2">
        <Submit look="primary">{strings.find}</Submit>
        <ButtonLink to="/posts/find" look="quiet">
          {strings.clear}
        </ButtonLink>
      </div>
      <FieldErrors id="find-errors" errors={general} />
    </Form>
  )
}

// Folded after a search by words alone: on a phone the posts that were found would be out of sight.
function Filters() {
  const { asked, channels, authors, tags, queues } = useLoaderData<Shown>()
  const names = Object.keys(asked)
  return (
    <details open={names.length === 0 || names.some((name) => name !== 'words')}>
      <summary className="cursor-pointer text-sm font-medium">{strings.filters}</summary>
      <div className="mt-3 grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
        <FilterSelect name="channelId" label={strings.channel}>
          <Options of={channels} asked={asked.channelId} />
        </FilterSelect>
        {queues.length > 0 || asked.queueId ? (
          <FilterSelect name="queueId" label={strings.queue}>
            <Options of={queues} asked={asked.queueId} />
          </FilterSelect>
        ) : null}
        <FilterSelect name="status" label={strings.status}>
          <Options of={Object.entries(postStrings.statuses).map(([id, name]) => ({ id: id as PostStatus, name }))} />
        </FilterSelect>
        <FilterSelect name="tag" label={strings.tag}>
          <Options of={tags.map((tag) => ({ id: tag, name: tag }))} asked={asked.tag} name={asked.tag} />
        </FilterSelect>
        <FilterSelect name="authorId" label={strings.author}>
          <Options of={authors} asked={asked.authorId} />
        </FilterSelect>
        <FilterInput name="from" label={strings.from} type="date" />
        <FilterInput name="to" label={strings.to} type="date" />
      </div>
      <p className="mt-3 text-sm text-muted">{strings.zone(useZone())}</p>
    </details>
  )
}

type OptionsProps = { of: { id: string; name: string }[]; asked?: string | undefined; name?: string | undefined }

// What is `asked` for and not in the list has an option too, with this `name`: the next search keeps it.
function Options({ of: choices, asked, name = strings.notListed }: OptionsProps) {
  const isListed = !asked || choices.some(({ id }) => id === asked)
  return (isListed ? choices : [...choices, { id: asked, name }]).map(({ id, name }) => (
    <option key={id} value={id}>
      {name}
    </option>
  ))
}
