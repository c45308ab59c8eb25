import { useSubmit } from '@remix-run/react'
import type { FormEvent } from 'react'
import { shellStrings } from './strings.tsx'

const AtMostMs = 3000 // a server that does not answer keeps nobody signed in

/** `save` resolves to whether the server has what was typed. `stop` ends saving: this browser is about to forget it. */
type Unsaved = { save: () => Promise<boolean>; stop: () => void }

const unsaved: Unsaved[] = []
const clears: (() => void)[] = []

/** Save this before the browser signs out. Returns a function that takes it back. */
export function beforeSignOut(one: Unsaved): () => void {
  unsaved.push(one)
  return () => {
    unsaved.splice(unsaved.indexOf(one), 1)
  }
}

/** Do `clear` when this browser signs out. */
export function atSignOut(clear: () => void): void {
  clears.push(clear)
}

/** Handles the submit of a form that signs out: once everything is saved, or the person agrees to lose it. */
export function useSignOut(): (event: FormEvent<HTMLFormElement>) => void {
  const submit = useSubmit()
  return (event) => {
    event.preventDefault()
    const button = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null
    const form = event.currentTarget
    void endSession().then((isEnded) => isEnded && submit(button ?? form))
  }
}

async function endSession(): Promise<boolean> {
  const late = new Promise<boolean[]>((done) => setTimeout(() => done([false]), AtMostMs))
  const saved = await Promise.race([Promise.all(unsaved.map(({ save }) => save())), late])
  if (saved.includes(false) && !window.confirm(shellStrings.signOutUnsaved)) return false
  for (const { stop } of unsaved) stop()
  for (const clear of clears) clear()
  return true
}
