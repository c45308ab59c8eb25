import { useRevalidator } from '@remix-run/react'
import { type FormEvent, type InputHTMLAttributes, useEffect, useRef, useState } from 'react'
import type { Answer } from '../../api.ts'
import { signInStrings } from '../../shell/strings.tsx'
import { Alert } from '../../ui/alert.tsx'
import { Submit } from '../../ui/forms/button.tsx'
import { controlClass } from '../../ui/forms/control.tsx'
import { composerStrings } from '../composer/strings.tsx'
import type { SaveState } from './autosave.ts'

const strings = composerStrings.copy

type Props = { organisationId: string; state: SaveState; onDone: () => void }

/** Signs the person in over the page, into the organisation that the text belongs to. Opens again with each new `state`. */
export function SignInAgain({ organisationId, state, onDone }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [problems, setProblems] = useState<string[]>([])
  const { revalidate } = useRevalidator()
  const signIn = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const answer = await send(event.currentTarget)
    if (!answer) return setProblems([strings.unreachable])
    if ('result' in answer)
      return setProblems(Object.values(answer.result.error ?? {}).flatMap((errors) => errors ?? []))
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
      <form noValidate onSubmit={(event) => void signIn(event)} className="space-y-5">
        <input type="hidden" name="organisationId" value={organisationId} />
        {problems.length > 0 ? <Alert className="">{problems.join(' ')}</Alert> : null}
        <Input label={signInStrings.email} name="email" type="email" autoComplete="username" />
        <Input label={signInStrings.password} name="password" type="password" autoComplete="current-password" />
        <Submit look="primary" className="w-full">
          {signInStrings.submit}
        </Submit>
      </form>
    </dialog>
  )
}

// Without Conform, which other forms use: it is too heavy for a dialog that few people see.
function Input({ label, ...rest }: { label: string } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="block text-sm font-medium">
      {label}
      <input {...rest} required className={`${controlClass} mt-1.5 font-normal`} />
    </label>
  )
}

// A fetch, and no form of the router: that would read the page again, and a signed-out reader is sent away.
async function send(form: HTMLFormElement): Promise<Answer | { isSignedIn: true } | null> {
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const answer = await fetch('/sign-in-again', { method: 'POST', body }).catch(() => null)
  return answer?.headers.get('content-type')?.includes('json') ? answer.json() : null
}
