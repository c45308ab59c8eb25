import { Form, useLoaderData } from '@remix-run/react'
import { ListFilter } from 'lucide-react'
import type { ApiRequest } from '../../server/api-requests/list.ts'
import { requestMethods } from '../../server/api-requests/methods.ts'
import type { Fault } from '../../server/errors.ts'
import { useZone } from '../shell/account.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { FieldErrors } from '../ui/forms/control.tsx'
import { FilterInput, FilterSelect } from '../ui/forms/filter-fields.tsx'
import { requestStrings } from './strings.tsx'

const strings = requestStrings.filters

type Credential = { id: string; name: string }

/** What the page of requests has loaded. */
type Shown = {
  asked: Record<string, string>
  faults: Fault[]
  requests: ApiRequest[]
  keys: Credential[]
  apps: Credential[]
}

/** A plain form that loads the page again: an address with filters can be saved and shared. */
export function CallFilters() {
  const { asked, faults } = useLoaderData<Shown>()
  const count = Object.keys(asked).length
  const general = faults.filter(({ path }) => !(path in asked)).map(({ message }) => message)
  return (
    <details open={count > 0} className="mb-6 rounded-2xl border border-line bg-panel shadow-sm">
      <summary className="flex cursor-pointer items-center gap-2 px-4 py-3 text-sm font-medium sm:px-5">
        <ListFilter aria-hidden className="size-4" />
        {strings.summary(count)}
      </summary>
      {/* The key resets what was typed and not sent when the filters change. */}
      <Form key={JSON.stringify(asked)} className="grid gap-4 px-4 pb-4 sm:grid-cols-2 sm:px-5 sm:pb-5 lg:grid-cols-3">
        <Credential />
        <FilterSelect name="method" label={strings.method}>
          {requestMethods.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </FilterSelect>
        <FilterInput name="status" label={strings.status} placeholder={strings.statusExample} />
        <FilterInput name="problem" label={strings.problem} placeholder="invalid_request" />
        <FilterInput name="path" label={strings.path} placeholder="/posts" />
        <FilterInput name="requestId" label={strings.requestId} />
        <FilterInput name="from" label={strings.from} type="date" />
        <FilterInput name="to" label={strings.to} type="date" />
        <div className="flex items-end gap-2">
          <Submit look="primary">{strings.filter}</Submit>
          <ButtonLink to="/settings/developers/requests" look="quiet">
            {strings.clear}
          </ButtonLink>
        </div>
        <p className="text-sm text-muted sm:col-span-2 lg:col-span-3">{strings.zone(useZone())}</p>
        <FieldErrors id="filter-errors" errors={general} />
      </Form>
    </details>
  )
}

function Credential() {
  const { asked, keys, apps, requests } = useLoaderData<Shown>()
  const isListed = [...keys, ...apps].some(({ id }) => id === asked.credential)
  return (
    <FilterSelect name="credential" label={strings.credential}>
      <Options label={strings.keys} of={keys} />
      <Options label={strings.apps} of={apps} />
      {asked.credential && !isListed ? (
        <option value={asked.credential}>{requests[0]?.credentialName ?? strings.removedCredential}</option>
      ) : null}
    </FilterSelect>
  )
}

function Options({ label, of: credentials }: { label: string; of: { id: string; name: string }[] }) {
  if (credentials.length === 0) return null
  return (
    <optgroup label={label}>
      {credentials.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </optgroup>
  )
}
