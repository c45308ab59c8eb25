import { Form, useLoaderData } from '@remix-run/react'
import { ListFilter } from 'lucide-react'
import type { InputHTMLAttributes, ReactNode } from 'react'
import { requestMethods } from '../../server/api-requests/forms.ts'
import type { ApiRequest } from '../../server/api-requests/list.ts'
import type { Fault } from '../../server/errors.ts'
import { useZone } from '../shell/account.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../ui/forms/field.tsx'
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
        <Select name="method" label={strings.method}>
          {requestMethods.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </Select>
        <Input name="status" label={strings.status} placeholder={strings.statusExample} />
        <Input name="problem" label={strings.problem} placeholder="invalid_request" />
        <Input name="path" label={strings.path} placeholder="/posts" />
        <Input name="requestId" label={strings.requestId} />
        <Input name="from" label={strings.from} type="date" />
        <Input name="to" label={strings.to} type="date" />
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
    <Select name="credential" label={strings.credential}>
      <Options label={strings.keys} of={keys} />
      <Options label={strings.apps} of={apps} />
      {asked.credential && !isListed ? (
        <option value={asked.credential}>{requests[0]?.credentialName ?? strings.removedCredential}</option>
      ) : null}
    </Select>
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

type Named = { name: string; label: string }

function Select({ name, label, children }: Named & { children: ReactNode }) {
  const { asked } = useLoaderData<Shown>()
  return (
    <Labelled name={name} label={label}>
      <select id={name} name={name} defaultValue={asked[name] ?? ''} className={`${controlClass} pr-8`}>
        <option value="">{strings.any}</option>
        {children}
      </select>
    </Labelled>
  )
}

function Input({ name, label, ...rest }: Named & InputHTMLAttributes<HTMLInputElement>) {
  const { asked, faults } = useLoaderData<Shown>()
  const isWrong = faults.some(({ path }) => path === name)
  return (
    <Labelled name={name} label={label}>
      <input
        {...rest}
        id={name}
        name={name}
        defaultValue={asked[name] ?? ''}
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? `${name}-error` : undefined}
        className={controlClass}
      />
    </Labelled>
  )
}

function Labelled({ name, label, children }: Named & { children: ReactNode }) {
  const { faults } = useLoaderData<Shown>()
  const errors = faults.filter(({ path }) => path === name).map(({ message }) => message)
  return (
    <div>
      <label htmlFor={name} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      {children}
      <FieldErrors id={`${name}-error`} errors={errors} />
    </div>
  )
}
