import type { Copy } from '../../../server/posts/working-copies.ts'
import { isSame, type Typed } from '../composer/typed.ts'
import type { Picked } from '../composer/uploads.ts'
import { type BrowserCopy, type CopyKey, dropCopy, keepCopy, keptCopy, otherOf } from './browser-copies.ts'

const SaveAfterMs = 1000 // of typing
const TryAgainMs = 3000
const AnswerWithinMs = 20_000 // as long as the largest text takes on a slow line
const KeepaliveBytes = 60_000 // browsers refuse more for a request that outlives its page

/**
 * `away`: the server cannot be reached. `refused`: it does not take the text. `too-many`: the person has too many copies.
 * `isKept` says whether this browser has it. `elsewhere`: another tab saved this copy. `sent`: another tab sent it. `gone`:
 * its post was deleted. `nextId` is free for another post.
 */
export type SaveState =
  | { is: 'idle' | 'saving' | 'saved' | 'signed-out' | 'wrong-organisation' }
  | { is: 'sent' | 'gone'; nextId: string }
  | { is: 'away' | 'refused' | 'too-many'; isKept: boolean }
  | { is: 'elsewhere'; copy: Copy; files: Picked[] }

/** What the server answers to a save (app/routes/posts.working-copy.ts). */
export type SaveAnswer =
  | { revision: number }
  | { elsewhere: Copy | null; files: Picked[] }
  | { sent: string } // an id for another new post
  | { gone: string } // the same
  | { refused: 'signed-out' | 'wrong-organisation' | 'invalid' | 'too-many' }

/** Which copy a page writes. `revision` 0: the server has none yet. */
export type CopyStart = { id: string; isNew: boolean; revision: number; postVersion: number | null }

type Written = { typed: Typed; files: Picked[] }

/** `read` reads the form, `untouched` is what it holds without the copy, and `onState` gets each change of the state. */
type Form = { read: () => Written; untouched: () => Typed; onState: (state: SaveState) => void }

/** Saves what is typed: at once in this browser, within a second on the server, one save at a time. */
export class Autosave {
  private readonly key: CopyKey
  private readonly form: Form
  private start: CopyStart
  private timer: ReturnType<typeof setTimeout> | null = null
  private running: Promise<SaveState> | null = null
  private state: SaveState = { is: 'idle' }
  private sent: Typed | null // the last text that we tried to save
  private isDirty = false
  private isPaused = false
  private isBeside = false // our text is kept beside that of another tab

  /** `sent`: the text that a page before this one may have saved. */
  constructor(owner: Omit<CopyKey, 'id'>, start: CopyStart, form: Form, sent: Typed | null) {
    this.sent = sent
    this.key = { ...owner, id: start.id }
    this.start = start
    this.form = form
  }

  /** Of the copy that is written now. */
  get id(): string {
    return this.key.id
  }

  /** The form changed. */
  changed(): void {
    if (this.isPaused) return
    this.isDirty = !this.isUntouched()
    if (!this.isDirty) {
      dropCopy(this.key)
      return
    }
    this.keep()
    const waitsForPerson = ['elsewhere', 'sent', 'gone', 'wrong-organisation', 'signed-out'].includes(this.state.is)
    if (!waitsForPerson) this.saveIn(SaveAfterMs)
  }

  /** Save now, before the form is sent. Returns how that ended. */
  async flush(): Promise<SaveState> {
    this.clearTimer()
    await this.running
    return this.save()
  }

  /** Save what is unsaved, before the session ends. Resolves to whether the server has everything. */
  async settle(): Promise<boolean> {
    if (this.isPaused || !(this.isDirty || this.running)) return true
    return (await this.flush()).is === 'saved'
  }

  /** The form is being sent: what is typed from now on belongs to nothing, until `goOn` or `restart`. */
  pause(): void {
    this.isPaused = true
    this.clearTimer()
  }

  /** Go on after the person has decided: with `change`d facts about the copy, or as another copy. */
  goOn(change: Partial<CopyStart> = {}): void {
    if (change.id && change.id !== this.key.id) dropCopy(this.key)
    this.restart({ ...this.start, ...change })
    this.changed()
  }

  /** The copy is now `start`, and what was unsaved is not wanted. */
  restart(start: CopyStart): void {
    this.clearTimer()
    if (start.id === this.key.id) dropCopy(this.key)
    if (this.isBeside) dropCopy(otherOf(this.key))
    this.isBeside = false
    this.start = start
    this.key.id = start.id
    this.isDirty = false
    this.isPaused = false
    this.tell({ is: 'idle' })
  }

  /** The page is left: one last save that outlives it. */
  leave(): void {
    this.clearTimer()
    if (!this.isDirty || this.isPaused) return
    const written = this.form.read()
    this.sent = written.typed
    const body = this.bodyOf(written)
    if (body.toString().length < KeepaliveBytes) void send(body, true).catch(() => {})
  }

  private isUntouched(): boolean {
    return this.start.revision === 0 && isSame(this.form.read().typed, this.form.untouched())
  }

  private saveIn(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = null
      if (this.isDirty && !this.isPaused) void this.flush()
    }, ms)
  }

  private clearTimer(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
  }

  private save(): Promise<SaveState> {
    this.running = this.saveOnce().finally(() => {
      this.running = null
    })
    return this.running
  }

  private async saveOnce(): Promise<SaveState> {
    const written = this.form.read()
    const before = this.sent
    this.sent = written.typed
    this.isDirty = false
    this.tell({ is: 'saving' })
    const answer = await send(this.bodyOf(written), false).catch(() => null)
    if (answer && 'revision' in answer) return this.saved(answer.revision)
    const copy = answer && 'elsewhere' in answer ? answer.elsewhere : null
    if (copy && isSame(copy, written.typed)) return this.saved(copy.revision)
    this.isDirty = true
    if (copy && before && isSame(copy, before)) return this.saveOn(copy.revision)
    if (answer && 'elsewhere' in answer && copy) return this.beside({ is: 'elsewhere', copy, files: answer.files })
    if (answer && 'sent' in answer) return this.tell({ is: 'sent', nextId: answer.sent })
    if (answer && 'gone' in answer) return this.tell({ is: 'gone', nextId: answer.gone })
    if (answer && 'refused' in answer) return this.refused(answer.refused)
    this.saveIn(TryAgainMs)
    return this.tell({ is: 'away', isKept: this.keep() })
  }

  // The other tab keeps its own text under this copy's name: ours waits beside it until the person has chosen.
  private beside(state: Extract<SaveState, { is: 'elsewhere' }>): SaveState {
    const kept = keptCopy(this.key)
    if (kept && this.sent && isSame(kept.typed, this.sent)) dropCopy(this.key)
    this.tell(state)
    this.keep()
    return state
  }

  private refused(why: Extract<SaveAnswer, { refused: string }>['refused']): SaveState {
    if (why === 'signed-out' || why === 'wrong-organisation') return this.tell({ is: why })
    return this.tell({ is: why === 'too-many' ? why : 'refused', isKept: this.keep() })
  }

  // The server has a save of ours whose answer we did not hear: no other tab wrote.
  private saveOn(revision: number): Promise<SaveState> {
    this.start = { ...this.start, revision }
    return this.saveOnce()
  }

  private saved(revision: number): SaveState {
    this.start = { ...this.start, revision }
    // What was taken back meanwhile, before the server had anything, was no change.
    this.isDirty ||= this.sent !== null && !isSame(this.form.read().typed, this.sent)
    if (this.isDirty) {
      this.keep() // typed meanwhile, on the new revision
      this.saveIn(SaveAfterMs)
    } else dropCopy(this.key)
    return this.tell({ is: 'saved' })
  }

  private keep(): boolean {
    const { isNew, revision, postVersion } = this.start
    const copy: BrowserCopy = { isNew, revision, postVersion, ...this.form.read(), at: Date.now() }
    this.isBeside ||= this.state.is === 'elsewhere'
    return keepCopy(this.isBeside ? otherOf(this.key) : this.key, copy)
  }

  private bodyOf({ typed }: Written): URLSearchParams {
    const copy = JSON.stringify({ ...this.start, ...typed })
    return new URLSearchParams({ forOrganisation: this.key.organisationId, copy })
  }

  private tell(state: SaveState): SaveState {
    this.state = state
    this.form.onState(state)
    return state
  }
}

// Throws when the server cannot be reached, or answers with anything but its own word.
async function send(body: URLSearchParams, keepalive: boolean): Promise<SaveAnswer> {
  const limit = keepalive ? {} : { signal: AbortSignal.timeout(AnswerWithinMs) }
  const answer = await fetch('/posts/working-copy', { method: 'POST', body, keepalive, ...limit })
  if (answer.status >= 500 || !answer.headers.get('content-type')?.includes('json')) throw new Error('not saved')
  return answer.json()
}
