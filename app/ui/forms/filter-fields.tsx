import { useLoaderData } from '@remix-run/react'
import type { InputHTMLAttributes, ReactNode } from 'react'
import { uiStrings } from '../strings.ts'
import { controlClass, FieldErrors } from './control.tsx'

// The fields of a form that loads its page again with filters. The page's loader returns what was asked for, by the
// names of the fields, and what is wrong with it.

type Filtered = { asked: Record<string, string>; faults: { path: string; message: string }[] }
type Named = { name: string; label: string }

/** A choice, of which "any" is the first. `children` are the other options. */
export function FilterSelect({ name, label, children }: Named & { children: ReactNode }) {
  const { asked } = useLoaderData<Filtered>()
  return (
    <Labelled name={name} label={label}>
      <select id={name} name={name} defaultValue={asked[name] ?? ''} className={`${controlClass} pr-8`}>
        <option value="">{uiStrings.any}</option>
        {children}
      </select>
    </Labelled>
  )
}

/** An input, with what is wrong with it. */
export function FilterInput({ name, label, ...rest }: Named & InputHTMLAttributes<HTMLInputElement>) {
  const { asked, faults } = useLoaderData<Filtered>()
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
  const { faults } = useLoaderData<Filtered>()
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
