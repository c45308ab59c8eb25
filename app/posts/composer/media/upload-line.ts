import type { Media } from '../../../../server/media/media.ts'
import { type Answer, fetchLink, sendFile } from './send-file.ts'

/**
 * A file on its way. `sent` is the part of it that is sent, from 0 to 1. Null: the server fetches it from a link.
 * `channelId`: the only channel that gets it. Null: it belongs to the post.
 */
export type Upload = {
  id: number
  name: string
  channelId: string | null
  sent: number | null
  problem: string | null
}

type Job = Upload & { file: File | null; stop: AbortController }
type FileJob = Job & { file: File }

type Heard = {
  onChange: (uploads: Upload[]) => void
  onMedia: (media: Media, channelId: string | null) => void
}

/** Sends files one after another, in the order in which they were picked. Links do not wait for files. */
export class UploadLine {
  private readonly organisationId: string
  private readonly heard: Heard
  private jobs: Job[] = []
  private lastId = 0
  private isSending = false

  constructor(organisationId: string, heard: Heard) {
    this.organisationId = organisationId
    this.heard = heard
  }

  /** Add files to the post, or to one channel only. */
  add(files: File[], channelId: string | null): void {
    for (const file of files) this.join({ name: file.name, channelId, sent: 0, file })
    void this.sendAll()
  }

  /** Add the file at `url` to the post. Null: it was cancelled. */
  async addLink(url: string): Promise<Answer | null> {
    const { id, stop } = this.join({ name: url, channelId: null, sent: null, file: null })
    const answer = await fetchLink(url, { organisationId: this.organisationId, signal: stop.signal })
    if (stop.signal.aborted) return null
    this.cancel(id)
    if (answer.media) this.heard.onMedia(answer.media, null)
    return answer
  }

  tryAgain(id: number): void {
    this.change(id, { sent: 0, problem: null })
    void this.sendAll()
  }

  /** Stop an upload if it is under way, and forget it. */
  cancel(id: number): void {
    const job = this.jobs.find((one) => one.id === id)
    this.jobs = this.jobs.filter((one) => one.id !== id)
    job?.stop.abort()
    this.tell()
  }

  cancelAll(): void {
    for (const { id } of this.jobs) this.cancel(id)
  }

  /** The same for those that are only for one channel. */
  cancelOf(channelId: string): void {
    for (const job of this.jobs) if (job.channelId === channelId) this.cancel(job.id)
  }

  private join(upload: Pick<Job, 'name' | 'channelId' | 'sent' | 'file'>): Job {
    const job = { id: ++this.lastId, problem: null, stop: new AbortController(), ...upload }
    this.jobs = [...this.jobs, job]
    this.tell()
    return job
  }

  private async sendAll(): Promise<void> {
    if (this.isSending) return
    this.isSending = true
    for (let next = this.next(); next; next = this.next()) await this.send(next)
    this.isSending = false
  }

  private next() {
    return this.jobs.find((job): job is FileJob => job.file !== null && job.problem === null)
  }

  private async send({ id, file, channelId, stop: { signal } }: FileJob): Promise<void> {
    const onProgress = (sent: number) => this.change(id, { sent })
    const { media, problem } = await sendFile(file, { organisationId: this.organisationId, signal, onProgress })
    if (signal.aborted) return
    if (problem !== undefined) return this.change(id, { problem })
    this.cancel(id)
    this.heard.onMedia(media, channelId)
  }

  private change(id: number, change: Partial<Upload>): void {
    this.jobs = this.jobs.map((job) => (job.id === id ? { ...job, ...change } : job))
    this.tell()
  }

  private tell(): void {
    this.heard.onChange(this.jobs.map(({ file: _, stop: __, ...upload }) => upload))
  }
}
