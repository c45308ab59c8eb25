import { Link, type LinkProps, useFetchers, useNavigation } from '@remix-run/react'
import { LoaderCircle } from 'lucide-react'
import type { ButtonHTMLAttributes, ReactNode } from 'react'

const shape =
  'inline-flex min-h-10 items-center justify-center gap-2 rounded-lg px-3.5 py-1.5 text-sm font-medium transition-colors [&_svg]:size-4 [&_svg]:shrink-0'
const looks = {
  primary: 'bg-accent text-white shadow-sm hover:bg-accent/90',
  plain: 'border border-line bg-panel text-ink shadow-sm hover:bg-sunken',
  quiet: 'text-muted hover:bg-sunken hover:text-ink',
  danger: 'border border-line bg-panel text-bad shadow-sm hover:border-bad/40 hover:bg-bad/10',
}
type Look = keyof typeof looks

/** The look of a button, for what is none but looks like one. */
export function buttonClass(look: Look = 'plain'): string {
  return `${shape} ${looks[look]}`
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: Look }

/** A button that changes something on the page only. */
export function Button({ look = 'plain', className = '', ...rest }: ButtonProps) {
  return <button type="button" {...rest} className={`${buttonClass(look)} ${className}`} />
}

/**
 * The submit button of a form. It ignores presses while any form is being sent, or while `waits` is true. It is not
 * `disabled`, because it would then lose the focus.
 */
export function Submit({
  look = 'plain',
  waits = false,
  className = '',
  children,
  ...rest
}: ButtonProps & { waits?: boolean }) {
  const { state, formData } = useNavigation()
  const fetchers = useFetchers()
  const isBusy = waits || state === 'submitting' || fetchers.some((fetcher) => fetcher.state === 'submitting')
  const isMine = state === 'submitting' && (!rest.name || formData?.get(rest.name) === rest.value)
  return (
    <button
      type="submit"
      {...rest}
      aria-disabled={isBusy || undefined}
      onClick={(event) => (isBusy ? event.preventDefault() : rest.onClick?.(event))}
      className={`${buttonClass(look)} aria-disabled:cursor-default aria-disabled:opacity-60 ${className}`}
    >
      {isMine && look === 'primary' ? <LoaderCircle aria-hidden className="motion-safe:animate-spin" /> : null}
      {children}
    </button>
  )
}

/** A link to another page that looks like a button. */
export function ButtonLink({
  look = 'plain',
  className = '',
  ...rest
}: LinkProps & { look?: Look; children: ReactNode }) {
  return <Link {...rest} className={`${buttonClass(look)} ${className}`} />
}

/** Like ButtonLink, but to another site. */
export function ExternalLink({ look = 'plain', href, children }: { look?: Look; href: string; children: ReactNode }) {
  return (
    <a href={href} rel="noopener noreferrer" className={buttonClass(look)}>
      {children}
    </a>
  )
}
