import type { ReactNode } from 'react'
import { ButtonLink, Submit } from './forms/button.tsx'
import { Panel } from './page.tsx'

type ConfirmProps = {
  title: string // the question
  lead: ReactNode // what happens if the answer is yes
  does: string // the buttons
  keeps: string
  backTo: string
  children?: ReactNode // a choice
}

/** Asks before an action that cannot be undone, inside its form. It is part of the page, so it works without scripts. */
export function Confirm({ title, lead, does, keeps, backTo, children }: ConfirmProps) {
  return (
    <Panel title={title} lead={lead}>
      <div className="space-y-5">
        {children}
        <div className="flex flex-wrap gap-2">
          <Submit look="danger">{does}</Submit>
          <ButtonLink to={backTo} look="quiet">
            {keeps}
          </ButtonLink>
        </div>
      </div>
    </Panel>
  )
}
