import { withOwn } from '../composer/channels/overrides.ts'
import { altName, fileIdsOf, isSame, ownTextName, type Typed } from '../composer/typed.ts'
import type { CopyStart } from './autosave.ts'
import { type BrowserCopy, type CopyKey, dropCopy, keepCopy, keptCopy, newestCopy, otherOf } from './browser-copies.ts'
import { takeEarlyTexts } from './early-typing.ts'
import { type Fields, fieldsOf, typedOf } from './fields.ts'

/** Whose copies these are. */
export type Owner = Omit<CopyKey, 'id'>

/** Which copy the form goes on with. `fields`: what it must hold instead of what it holds. `other` has no place in it. */
export type FoundTexts = {
  start: CopyStart
  sent: Typed | null // a page before this one may have saved it
  fields: Fields | null
  other: Fields | null
  isRestored: boolean
}

type Page = { copy: CopyStart; first: Fields; untouched: Fields; inForm: Typed }

/**
 * What the form begins with: what was typed before the page was interactive, else what only this browser has, else
 * `first`.
 */
export function findTexts(owner: Owner, { copy, first, untouched, inForm }: Page): FoundTexts {
  const typed = withEarly(inForm, takeEarlyTexts())
  const found = findKept(owner, copy, typedOf(first))
  const isTyped = !isSame(typed, typedOf(first)) && !(found && isSame(typed, found.copy.typed))
  const start = found?.isNewest ? { ...copy, id: found.id, revision: found.copy.revision } : copy
  const isTaken = found?.isNewest === true && !isTyped
  const inFormNow = isTaken ? found.copy.typed : typed
  const aside = setAside({ ...owner, id: start.id }, isTaken ? null : (found?.copy ?? null), inFormNow)
  const taken = isTaken ? fieldsOf(found.copy.typed, found.copy.files, untouched) : null
  return {
    start,
    sent: isTaken ? found.copy.typed : null,
    fields: isTyped ? fieldsOf(typed, first.files, untouched) : taken,
    other: aside && fieldsOf(aside.typed, aside.files, untouched),
    isRestored: isTaken || copy.revision > 0,
  }
}

function withEarly(typed: Typed, early: Map<string, string>): Typed {
  const overrides = typed.overrides.reduce((all, { channelId }) => {
    const content = early.get(ownTextName(channelId))
    return content === undefined ? all : withOwn(all, channelId, { content })
  }, typed.overrides)
  const described = fileIdsOf(typed).flatMap((id) => (early.has(altName(id)) ? [[id, early.get(altName(id))!]] : []))
  const alts = { ...typed.alts, ...Object.fromEntries(described) }
  return { ...typed, content: early.get('content') ?? typed.content, overrides, alts }
}

// `isNewest`: typed on what the server has, so it may take its place. A page that is left does not hear that the server
// has its last text, so this browser may still keep the same one.
function findKept(owner: Owner, copy: CopyStart, onServer: Typed) {
  const kept = keptUnless(onServer, { ...owner, id: copy.id })
  if (kept) return { id: copy.id, copy: kept, isNewest: kept.revision === copy.revision }
  const newest = copy.isNew && copy.revision === 0 ? newestCopy(owner) : null
  return newest && { ...newest, isNewest: true }
}

// A text that is not in the form waits under a name of its own until the person has chosen.
function setAside(key: CopyKey, copy: BrowserCopy | null, inForm: Typed): BrowserCopy | null {
  if (!copy) return keptUnless(inForm, otherOf(key))
  keepCopy(otherOf(key), copy)
  return copy
}

// What this browser keeps under a name, unless it is the text that the page has anyway: then it goes.
function keptUnless(same: Typed, key: CopyKey): BrowserCopy | null {
  const kept = keptCopy(key)
  if (!kept || !isSame(kept.typed, same)) return kept
  dropCopy(key)
  return null
}
