import type { Logger } from 'pino'
import { isDatabaseAway } from '../../db/client.ts'
import { startupSentence } from '../../db/startup-error.ts'

/** Logs one line when the database goes away, and one when it is back. Any part of the process may notice it first. */
export class Outage {
  readonly #log: Logger
  #since: number | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  /** Whether `error` means that the database is away. */
  hasBegunWith(error: unknown): boolean {
    if (!isDatabaseAway(error)) return false
    if (this.#since === null) {
      this.#since = performance.now()
      this.#log.warn({ reason: startupSentence(error) }, 'the database is away; we retry until it is back')
    }
    return true
  }

  /** The database has answered. */
  isOver(): void {
    if (this.#since === null) return
    this.#log.info({ afterMs: Math.round(performance.now() - this.#since) }, 'the database is back')
    this.#since = null
  }
}
