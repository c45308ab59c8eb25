import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useAccount } from '../../shell/account.ts'
import { beforeSignOut } from '../../shell/sign-out.ts'
import { isSame, type Typed, typedIn } from '../composer/typed.ts'
import { Autosave, type CopyStart, type SaveState } from './autosave.ts'
import { type BrowserCopy, type CopyKey, dropCopy, keepCopy, keptCopy, newestCopy, otherOf } from './browser-copies.ts'
import { takeEarlyText } from './early-typing.ts'
import { type Fields, fieldsOf, typedOf } from './fields.ts'

/** useLayoutEffect, in the browser only: on the server React warns about it. */
export const useBrowserEffect = typeof document === 'undefined' ? useEffect : useLayoutEffect

type WorkingCopy = {
  form: RefObject<HTMLFormElement>
  copy: CopyStart // as the page began
  fields: Fields // as they are now
  untouched: Fields // as they are without the copy
  replace: (fields: Fields) => void
}

export type Saving = ReturnType<typeof useWorkingCopy>

/**
 * Saves what is typed into `form` while it is typed, and brings back what only this browser has. Returns how saving
 * goes, the copy as it is now, and `other`: a text of this copy that is not in the form.
 */
export function useWorkingCopy({ form, copy, fields, untouched, replace }: WorkingCopy) {
  const owner = useOwner()
  const [state, setState] = useState<SaveState>({ is: 'idle' })
  const [current, setCurrent] = useState(copy)
  const [isRestored, setIsRestored] = useState(copy.revision > 0)
  const [kept, setKept] = useState<Fields | null>(null)
  const autosave = useRef<Autosave | null>(null)
  const first = useRef(fields)
  const now = useRef({ media: fields.media, untouched })
  now.current = { media: fields.media, untouched }

  // Before anything is painted: no field shows a text and then another.
  useBrowserEffect(() => {
    const node = form.current!
    const read = () => ({ typed: typedIn(new FormData(node)), media: now.current.media })
    const found = findTexts(owner, copy, first.current, read().typed)
    const without = () => typedOf(now.current.untouched)
    const saving = new Autosave(owner, found.start, { read, untouched: without, onState: setState }, found.sent)
    autosave.current = saving
    setCurrent(found.start)
    setIsRestored(found.isRestored)
    setKept(found.other)
    if (found.fields) replace(found.fields)
    return listen(node, saving)
  }, [])

  // Once the fields are as they were found, and at each change that no event of the form tells.
  const isFirst = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are the changes
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else autosave.current?.changed()
  }, [fields])

  // A reload finds this copy again, also when another tab has written since.
  useEffect(() => {
    if (!current.isNew || state.is !== 'saved') return
    window.history.replaceState(window.history.state, '', `/posts/new?copy=${current.id}`)
  }, [current, state])

  const does = useMemo(
    () => ({
      flush: (): Promise<SaveState> => autosave.current!.flush(),
      pause: () => autosave.current!.pause(),
      /** Go on with what the form holds, and with `change`d facts about the copy. */
      goOn(change: Partial<CopyStart> = {}) {
        setIsRestored(false)
        setCurrent((before) => ({ ...before, ...change }))
        autosave.current!.goOn(change)
      },
      /** Begin anew: the server has no copy with the id of `start`. */
      restart(start: CopyStart) {
        setIsRestored(false)
        setCurrent(start)
        autosave.current!.restart(start)
      },
      /** The person has chosen between the form and `other`. */
      settle() {
        dropCopy(otherOf({ ...owner, id: autosave.current!.id }))
        setKept(null)
      },
    }),
    [owner],
  )
  const other = state.is === 'elsewhere' ? fieldsOf(state.copy, state.media) : kept
  return { ...does, state, current, isRestored, other, organisationId: owner.organisationId }
}

// Those of the page's beginning: another tab may switch the organisation.
function useOwner() {
  const account = useAccount()
  const [owner] = useState({ accountId: account?.id ?? '', organisationId: account?.organisationId ?? '' })
  return owner
}

type Owner = ReturnType<typeof useOwner>

// What the form begins with: what was typed before the page was interactive, else what only this browser has, else
// `first`. `fields` is null for the last; `other` is a text that has no place in the form.
function findTexts(owner: Owner, copy: CopyStart, first: Fields, inForm: Typed) {
  const early = takeEarlyText('content')
  const typed = early === undefined ? inForm : { ...inForm, content: early }
  const found = findKept(owner, copy)
  const isTyped = !isSame(typed, typedOf(first)) && !(found && isSame(typed, found.copy.typed))
  const start = found?.isNewest ? { ...copy, id: found.id, revision: found.copy.revision } : copy
  const isTaken = found?.isNewest === true && !isTyped
  const aside = setAside({ ...owner, id: start.id }, isTaken ? null : (found?.copy ?? null))
  const taken = isTaken ? fieldsOf(found.copy.typed, found.copy.media) : null
  return {
    start,
    sent: isTaken ? found.copy.typed : null,
    fields: isTyped ? fieldsOf(typed, first.media) : taken,
    other: aside && fieldsOf(aside.typed, aside.media),
    isRestored: isTaken || copy.revision > 0,
  }
}

// `isNewest`: typed on what the server has, so it may take its place.
function findKept(owner: Owner, copy: CopyStart) {
  const kept = keptCopy({ ...owner, id: copy.id })
  if (kept) return { id: copy.id, copy: kept, isNewest: kept.revision === copy.revision }
  const newest = copy.isNew && copy.revision === 0 ? newestCopy(owner) : null
  return newest && { ...newest, isNewest: true }
}

// A text that is not in the form waits under a name of its own until the person has chosen.
function setAside(key: CopyKey, copy: BrowserCopy | null): BrowserCopy | null {
  if (copy) keepCopy(otherOf(key), copy)
  return copy ?? keptCopy(otherOf(key))
}

function listen(node: HTMLFormElement, saving: Autosave): () => void {
  const changed = () => saving.changed()
  const leave = () => saving.leave()
  node.addEventListener('input', changed)
  const hidden = () => document.visibilityState === 'hidden' && saving.leave() // a phone may never come back
  window.addEventListener('pagehide', leave)
  document.addEventListener('visibilitychange', hidden)
  const signOut = beforeSignOut(() => saving.settle())
  return () => {
    signOut()
    node.removeEventListener('input', changed)
    window.removeEventListener('pagehide', leave)
    document.removeEventListener('visibilitychange', hidden)
    leave()
  }
}
