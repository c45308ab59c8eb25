import { Form, useLoaderData } from '@remix-run/react'
import { ListFilter } from 'lucide-react'
import type { InputHTMLAttributes, ReactNode } from 'react'
import { requestMethods } from '../../server/api-requests/forms.ts'
import type { ApiRequest } from '../../server/api-requests/list.ts'
import type { Fault } from '../../server/errors.ts'
import { useZone } from '../shell/account.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../ui/forms/field.tsx'

type Credential = { id: string; name: string }

/** What the page of calls has read. */
type Shown = {
  asked: Record<string, string>
  faults: Fault[]
  requests: ApiRequest[]
  keys: Credential[]
  apps: Credential[]
}

/** A plain form that asks for the page again: an address with filters can be kept and passed on. */
export function CallFilters() {
  const { asked, faults } = useLoaderData<Shown>()
  const count = Object.keys(asked).length
  const general = faults.filter(({ path }) => !(path in asked)).map(({ message }) => message)
  return (
    <details open={count > 0} className="mb-6 rounded-2xl border border-line bg-panel shadow-sm">
      <summary className="flex cursor-pointer items-center gap-2 px-4 py-3 text-sm font-medium sm:px-5">
        <ListFilter aria-hidden className="size-4" />
        {count === 0 ? 'Filter' : `Filter (${count} set)`}
      </summary>
      {/* Its key: what was typed and not sent goes with the page it was typed on. */}
      <Form key={JSON.stringify(asked)} className="grid gap-4 px-4 pb-4 sm:grid-cols-2 sm:px-5 sm:pb-5 lg:grid-cols-3">
        <Credential />
        <Select name="method" label="Method">
          {requestMethods.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </Select>
        <Input name="status" label="Status" placeholder="404, or 4xx" />
        <Input name="problem" label="Error code" placeholder="invalid_request" />
        <Input name="path" label="Path begins with" placeholder="/posts" />
        <Input name="requestId" label="Request id" />
        <Input name="from" label="From" type="date" />
        <Input name="to" label="To" type="date" />
        <div className="flex items-end gap-2">
          <Submit look="primary">Filter</Submit>
          <ButtonLink to="/settings/developers/requests" look="quiet">
            Clear
          </ButtonLink>
        </div>
        <p className="text-sm text-muted sm:col-span-2 lg:col-span-3">Days are those of {useZone()}.</p>
        <FieldErrors id="filter-errors" errors={general} />
      </Form>
    </details>
  )
}

function Credential() {
  const { asked, keys, apps, requests } = useLoaderData<Shown>()
  const isListed = [...keys, ...apps].some(({ id }) => id === asked.credential)
  return (
    <Select name="credential" label="Key or app">
      <Options label="API keys" of={keys} />
      <Options label="Apps" of={apps} />
      {asked.credential && !isListed ? (
        <option value={asked.credential}>{requests[0]?.credentialName ?? 'One that is gone'}</option>
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
        <option value="">Any</option>
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
