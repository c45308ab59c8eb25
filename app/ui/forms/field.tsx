import { type FieldMetadata, type FormMetadata, getInputProps, getSelectProps } from '@conform-to/react'
import { CircleAlert, CircleCheck } from 'lucide-react'
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useEffect, useRef } from 'react'

export const controlClass =
  'block w-full rounded-lg border border-edge/70 bg-panel px-3 py-2 text-ink placeholder:text-muted hover:border-edge aria-[invalid]:border-bad'
const labelClass = 'mb-1.5 block text-sm font-medium'

type InputType = 'text' | 'email' | 'password' | 'date' | 'time' | 'url'
type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'form'> & {
  label: string
  hint?: ReactNode
  field: FieldMetadata<string | null | undefined>
  type?: InputType
}

/** An input with its label, its hint and its errors. */
export function Field({ label, hint, field, type = 'text', className = '', ...rest }: FieldProps) {
  const described = hint ? { ariaDescribedBy: field.descriptionId } : {}
  const { key, ...input } = getInputProps(field, { type, ...described })
  return (
    <div className={className}>
      <label htmlFor={field.id} className={labelClass}>
        {label}
      </label>
      <input key={key} {...input} {...rest} className={controlClass} />
      <Hint id={field.descriptionId}>{hint}</Hint>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </div>
  )
}

type SelectFieldProps = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'form'> & {
  label: string
  hint?: ReactNode
  field: FieldMetadata<string | undefined>
}

/** Like Field, with `children` as the options. */
export function SelectField({ label, hint, field, children, ...rest }: SelectFieldProps) {
  const described = hint ? { ariaDescribedBy: field.descriptionId } : {}
  const { key, ...select } = getSelectProps(field, described)
  return (
    <div>
      <label htmlFor={field.id} className={labelClass}>
        {label}
      </label>
      <select key={key} {...select} {...rest} className={`${controlClass} pr-8`}>
        {children}
      </select>
      <Hint id={field.descriptionId}>{hint}</Hint>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </div>
  )
}

export function Hint({ id, children }: { id: string; children: ReactNode }) {
  if (!children) return null
  return (
    <p id={id} className="mt-1.5 text-sm text-muted">
      {children}
    </p>
  )
}

export function FieldErrors({ id, errors }: { id: string; errors: string[] | undefined }) {
  if (!errors?.length) return null
  return (
    <ul id={id} className="mt-1.5 space-y-1 text-sm text-bad">
      {errors.map((error) => (
        <li key={error} className="flex gap-1.5">
          <CircleAlert aria-hidden className="mt-1 size-4 shrink-0" />
          {error}
        </li>
      ))}
    </ul>
  )
}

/** The errors of a form as a whole. Takes the focus when no field has an error. */
export function FormErrors({ form }: { form: Pick<FormMetadata, 'errors' | 'errorId' | 'allErrors'> }) {
  const box = useRef<HTMLDivElement>(null)
  const { errors, errorId, allErrors } = form
  const isAlone = Object.keys(allErrors).every((name) => name === '')
  useEffect(() => {
    if (errors?.length && isAlone) box.current?.focus()
  }, [errors, isAlone])
  if (!errors?.length) return null
  return (
    <div
      ref={box}
      id={errorId}
      role="alert"
      tabIndex={-1}
      className="rounded-lg bg-bad/10 px-3.5 py-2.5 text-sm text-bad"
    >
      {errors.map((error) => (
        <p key={error}>{error}</p>
      ))}
    </div>
  )
}

/** Says beside a form that it was saved. */
export function Said({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="flex items-center gap-1.5 text-sm text-good empty:hidden">
      {children ? (
        <>
          <CircleCheck aria-hidden className="size-4 shrink-0" />
          {children}
        </>
      ) : null}
    </p>
  )
}
