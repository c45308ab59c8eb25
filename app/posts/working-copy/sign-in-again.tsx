import { getFormProps, useForm } from '@conform-to/react'
import { useRevalidator } from '@remix-run/react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Answer } from '../../api.ts'
import { signInStrings } from '../../shell/strings.tsx'
import { Alert } from '../../ui/alert.tsx'
import { Submit } from '../../ui/forms/button.tsx'
import { Field, FormErrors } from '../../ui/forms/field.tsx'
import { composerStrings } from '../composer/strings.tsx'
import type { SaveState } from './autosave.ts'

const strings = composerStrings.copy

type Props = { organisationId: string; state: SaveState; onDone: () => void }

/** Signs the person in over the page, into the organisation that the text belongs to. Opens again with each new `state`. */
export function SignInAgain({ organisationId, state, onDone }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isUnreachable, setUnreachable] = useState(false)
  const [lastResult, setLastResult] = useState<Answer['result'] | null>(null)
  const [form, fields] = useForm<{ email: string; password: string }>({ id: 'sign-in-again', lastResult })
  const { revalidate } = useRevalidator()
  const signIn = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const answer = await send(event.currentTarget)
    setUnreachable(answer === null)
    if (!answer) return
    if ('result' in answer) return setLastResult(answer.result)
    revalidate()
    onDone()
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new state
  useEffect(() => dialog.current?.showModal(), [state])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-again-title"
      className="w-full max-w-sm rounded-2xl border border-line bg-panel p-6 text-ink shadow-xl backdrop:bg-ink/40"
    >
      <h2 id="sign-in-again-title" className="text-lg font-semibold">
        {strings.signedOut}
      </h2>
      <p className="mb-5 mt-1 text-sm text-muted">{strings.signedOutLead}</p>
      <form {...getFormProps(form)} onSubmit={(event) => void signIn(event)} className="space-y-5">
        <input type="hidden" name="organisationId" value={organisationId} />
        <FormErrors form={form} />
        {isUnreachable ? <Alert className="">{strings.unreachable}</Alert> : null}
        <Field label={signInStrings.email} field={fields.email} type="email" autoComplete="username" required />
        <Field
          label={signInStrings.password}
          field={fields.password}
          type="password"
          autoComplete="current-password"
          required
        />
        <Submit look="primary" className="w-full">
          {signInStrings.submit}
        </Submit>
      </form>
    </dialog>
  )
}

// A fetch, and no form of the router: that would read the page again, and a signed-out reader is sent away.
async function send(form: HTMLFormElement): Promise<Answer | { isSignedIn: true } | null> {
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const answer = await fetch('/sign-in-again', { method: 'POST', body }).catch(() => null)
  return answer?.headers.get('content-type')?.includes('json') ? answer.json() : null
}
