import { Form } from '@remix-run/react'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { Said } from '../ui/forms/field.tsx'
import { accountStrings } from './strings.tsx'

const FormId = 'waiting-address'

/** The address that waits for its link, inside another form: its buttons send WaitingAddressForm. */
export function WaitingAddress({ email, current }: { email: string; current: string }) {
  const { said } = useAnswer('new-address-again')
  return (
    <div className="space-y-3 rounded-lg bg-sunken px-3.5 py-3 [overflow-wrap:anywhere]">
      <p className="text-sm">{accountStrings.profile.waiting(email)}</p>
      <p className="text-muted text-sm">{accountStrings.profile.waitingHint(current)}</p>
      <div className="flex flex-wrap items-center gap-3">
        <Submit form={FormId} name="intent" value="new-address-again">
          {accountStrings.profile.sendLinkAgain}
        </Submit>
        <Submit form={FormId} look="quiet" name="intent" value="new-address-drop">
          {accountStrings.profile.cancelChange}
        </Submit>
        <Said>{said}</Said>
      </div>
    </div>
  )
}

/** The form of WaitingAddress, outside the other form: a form cannot be inside another one. */
export function WaitingAddressForm() {
  return <Form method="post" id={FormId} />
}
