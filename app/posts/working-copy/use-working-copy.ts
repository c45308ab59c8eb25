import { type MutableRefObject, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useAccount } from '../../shell/account.ts'
import { beforeSignOut } from '../../shell/sign-out.ts'
import { typedIn } from '../composer/typed.ts'
import { Autosave, type CopyStart, type SaveState } from './autosave.ts'
import { dropCopy, otherOf } from './browser-copies.ts'
import { type Fields, fieldsOf, typedOf } from './fields.ts'
import { type FoundTexts, findTexts, type Owner } from './found-texts.ts'

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

/** `other`: a text of the copy that is not in the form. */
type Begun = { current: CopyStart; isRestored: boolean; other: Fields | null }

/**
 * Saves what is typed into `form` while it is typed, and brings back what only this browser has. Returns how saving
 * goes, the copy as it is now, and `other`: a text of this copy that is not in the form.
 */
export function useWorkingCopy(page: WorkingCopy) {
  const owner = useOwner()
  const [state, setState] = useState<SaveState>({ is: 'idle' })
  const [begun, setBegun] = useState<Begun>({ current: page.copy, isRestored: page.copy.revision > 0, other: null })
  const change = (part: Partial<Begun>) => setBegun((before) => ({ ...before, ...part }))
  const autosave = useAutosave(owner, page, {
    onState: setState,
    onFound: ({ start, isRestored, other }) => change({ current: start, isRestored, other }),
  })
  useAddress(begun.current, state)
  // biome-ignore lint/correctness/useExhaustiveDependencies: of the first call, which reads the state of later ones
  const does = useMemo(() => stepsOf(autosave, owner, setBegun), [owner])
  const other = state.is === 'elsewhere' ? fieldsOf(state.copy, state.files, page.untouched) : begun.other
  return { ...does, ...begun, state, other, organisationId: owner.organisationId }
}

// Those of the page's beginning: another tab may switch the organisation.
function useOwner(): Owner {
  const account = useAccount()
  const [owner] = useState({ accountId: account?.id ?? '', organisationId: account?.organisationId ?? '' })
  return owner
}

type Heard = { onState: (state: SaveState) => void; onFound: (found: FoundTexts) => void }
type Autosaving = MutableRefObject<Autosave | null> // null until the page is interactive

function useAutosave(owner: Owner, { form, copy, fields, untouched, replace }: WorkingCopy, heard: Heard): Autosaving {
  const autosave = useRef<Autosave | null>(null)
  const now = useRef({ fields, untouched })
  now.current = { fields, untouched }

  // Before anything is painted: no field shows a text and then another.
  useBrowserEffect(() => {
    const node = form.current!
    const read = () => ({ typed: typedIn(new FormData(node)), files: now.current.fields.files })
    const found = findTexts(owner, { copy, first: fields, untouched, inForm: read().typed })
    const without = () => typedOf(now.current.untouched)
    autosave.current = new Autosave(
      owner,
      found.start,
      { read, untouched: without, onState: heard.onState },
      found.sent,
    )
    heard.onFound(found)
    if (found.fields) replace(found.fields)
    return listen(node, autosave.current)
  }, [])

  // Once the fields are as they were found, and at each change that no event of the form tells.
  const isFirst = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are the changes
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else autosave.current?.changed()
  }, [fields])
  return autosave
}

function listen(node: HTMLFormElement, saving: Autosave): () => void {
  const changed = () => saving.changed()
  const leave = () => saving.leave()
  node.addEventListener('input', changed)
  const hidden = () => document.visibilityState === 'hidden' && saving.leave() // a phone may never come back
  window.addEventListener('pagehide', leave)
  document.addEventListener('visibilitychange', hidden)
  const signOut = beforeSignOut({ save: () => saving.settle(), stop: () => saving.pause() })
  return () => {
    signOut()
    node.removeEventListener('input', changed)
    window.removeEventListener('pagehide', leave)
    document.removeEventListener('visibilitychange', hidden)
    leave()
  }
}

// A reload finds this copy again, also when another tab has written since.
function useAddress(current: CopyStart, state: SaveState): void {
  useEffect(() => {
    if (!current.isNew || state.is !== 'saved') return
    const query = new URLSearchParams({ copy: current.id })
    // The free time of a queue that the post was begun for.
    for (const [name, value] of new URLSearchParams(window.location.search))
      if (name === 'at' || name === 'queue') query.set(name, value)
    window.history.replaceState(window.history.state, '', `/posts/new?${query}`)
  }, [current, state])
}

/** What the composer and its notices can do with the copy. */
function stepsOf(autosave: Autosaving, owner: Owner, setBegun: (change: (before: Begun) => Begun) => void) {
  const goesOn = (change: Partial<CopyStart>) =>
    setBegun((before) => ({ ...before, isRestored: false, current: { ...before.current, ...change } }))
  return {
    flush: (): Promise<SaveState> => autosave.current!.flush(),
    pause: () => autosave.current!.pause(),
    /** Go on with what the form holds, and with `change`d facts about the copy. */
    goOn(change: Partial<CopyStart> = {}) {
      goesOn(change)
      autosave.current!.goOn(change)
    },
    /** Begin anew: the server has no copy with the id of `start`. */
    restart(start: CopyStart) {
      goesOn(start)
      autosave.current!.restart(start)
    },
    /** The person has chosen between the form and `other`. */
    settle() {
      dropCopy(otherOf({ ...owner, id: autosave.current!.id }))
      setBegun((before) => ({ ...before, other: null }))
    },
  }
}
