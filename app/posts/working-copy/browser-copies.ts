import type { Typed } from '../composer/typed.ts'
import type { Picked } from '../composer/uploads.ts'

// What the server does not have yet, in this browser's own storage: while the server is away, and for the second until
// each save. An entry goes as soon as the server has it, and all of them at sign-out.

/** Where a copy is kept: each account and organisation has its own. */
export type CopyKey = { accountId: string; organisationId: string; id: string }

/** A copy that only this browser has. `revision`: of the server's copy that it was typed on. */
export type BrowserCopy = {
  isNew: boolean
  revision: number
  postVersion: number | null
  typed: Typed
  files: Picked[]
  at: number // milliseconds since 1970
}

const Prefix = 'punctual:copy:'
const OtherSuffix = ':other'

/** Keep a copy in this browser. False: there is no room, or this browser keeps nothing. */
export function keepCopy(key: CopyKey, copy: BrowserCopy): boolean {
  try {
    localStorage.setItem(nameOf(key), JSON.stringify(copy))
    return true
  } catch {
    return false
  }
}

/** The copy of this key, or null. */
export function keptCopy(key: CopyKey): BrowserCopy | null {
  try {
    const copy: BrowserCopy | null = JSON.parse(localStorage.getItem(nameOf(key)) ?? 'null')
    return copy && withAllParts(copy)
  } catch {
    return null
  }
}

// Entries of previous versions have no zone, no tags, and no texts or media for single channels. They have all alt texts, as
// if each was typed.
function withAllParts(copy: BrowserCopy & { media?: Picked[] }): BrowserCopy {
  const { typed, files = copy.media ?? [] } = copy
  const { overrides = [], tags = '', zone = '' }: Partial<Typed> = typed
  const known = zone === '' ? files.map((file) => ({ altBefore: '', ...file })) : files
  return { ...copy, files: known, typed: { ...typed, overrides, tags, zone } }
}

/** Remove a copy: the server has it, or the person does not want it. */
export function dropCopy(key: CopyKey): void {
  try {
    localStorage.removeItem(nameOf(key))
  } catch {} // this browser keeps nothing
}

/** Where another text of the same copy waits until the person has chosen between the two. */
export function otherOf(key: CopyKey): CopyKey {
  return { ...key, id: key.id + OtherSuffix }
}

/** The newest copy of a new post of this account and organisation, with its id; or null. */
export function newestCopy(owner: Omit<CopyKey, 'id'>): { id: string; copy: BrowserCopy } | null {
  const begin = nameOf({ ...owner, id: '' })
  const ids = names().flatMap((name) =>
    name.startsWith(begin) && !name.endsWith(OtherSuffix) ? [name.slice(begin.length)] : [],
  )
  const all = ids.flatMap((id) => {
    const copy = keptCopy({ ...owner, id })
    return copy?.isNew ? [{ id, copy }] : []
  })
  return all.toSorted((a, b) => b.copy.at - a.copy.at)[0] ?? null
}

/** Remove every copy from this browser, at sign-out. */
export function dropAllCopies(): void {
  for (const name of names()) if (name.startsWith(Prefix)) localStorage.removeItem(name)
}

function nameOf({ accountId, organisationId, id }: CopyKey): string {
  return `${Prefix}${accountId}:${organisationId}:${id}`
}

function names(): string[] {
  try {
    return Object.keys(localStorage)
  } catch {
    return []
  }
}
