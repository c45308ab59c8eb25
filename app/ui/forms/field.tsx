import {
  type FieldMetadata,
  type FormMetadata,
  getInputProps,
  getSelectProps,
  getTextareaProps,
} from '@conform-to/react'
import { CircleCheck } from 'lucide-react'
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useEffect, useRef } from 'react'
import { controlClass, FieldErrors, Hint, textAreaClass } from './control.tsx'

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

type TextAreaFieldProps = {
  label: string
  field: FieldMetadata<string>
  hint: ReactNode
  rows: number
  maxLength?: number
  isCode?: boolean
  required?: boolean
  errors?: string[] | undefined
  onInput?: (text: string) => void
}

/** Like Field, of several lines. */
export function TextAreaField({
  label,
  field,
  hint,
  isCode,
  errors = field.errors,
  onInput,
  ...rest
}: TextAreaFieldProps) {
  const { key, ...textarea } = getTextareaProps(field, { ariaDescribedBy: field.descriptionId })
  return (
    <div>
      <label htmlFor={field.id} className={labelClass}>
        {label}
      </label>
      <textarea
        key={key}
        {...textarea}
        {...rest}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        aria-invalid={errors?.length ? true : undefined}
        aria-describedby={`${field.descriptionId} ${field.errorId}`}
        className={`${textAreaClass} ${isCode ? 'font-mono text-sm' : ''}`}
        spellCheck={!isCode}
      />
      <Hint id={field.descriptionId}>{hint}</Hint>
      <FieldErrors id={field.errorId} errors={errors} />
    </div>
  )
}

type SelectFieldProps = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'form'> & {
  label: string
  hint?: ReactNode
  field: FieldMetadata<string | number | undefined>
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
      // biome-ignore lint/a11y/noAutofocus: without scripts, too, the focus moves to what went wrong
      autoFocus={isAlone}
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
