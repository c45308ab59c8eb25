import type { ReactNode } from 'react'
import { PostForm } from '../shell/post-form.tsx'
import { Submit } from '../ui/forms/button.tsx'

type Props = {
  intent: string
  fields: Record<string, string>
  look?: 'primary' | 'plain' | 'danger'
  describedBy?: string
  children: ReactNode
}

/** A form that is one button; `describedBy` is the id of what it is about. */
export function ActionForm({ intent, fields, look = 'plain', describedBy, children }: Props) {
  return (
    <PostForm preventScrollReset>
      <input type="hidden" name="intent" value={intent} />
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <Submit look={look} aria-describedby={describedBy}>
        {children}
      </Submit>
    </PostForm>
  )
}
