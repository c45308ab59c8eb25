import { Form } from '@remix-run/react'
import { Search } from 'lucide-react'
import { controlClass } from '../../ui/forms/control.tsx'
import { findStrings } from './strings.ts'

/** The field above the list of posts that leads to the page Find posts. */
export function FindField() {
  return (
    <Form role="search" action="/posts/find" className="relative mb-4">
      <Search aria-hidden className="pointer-events-none absolute left-3 top-3 size-4 text-muted" />
      <input
        type="search"
        name="words"
        dir="auto"
        aria-label={findStrings.search}
        placeholder={findStrings.search}
        maxLength={200}
        className={`${controlClass} pl-9`}
      />
    </Form>
  )
}
