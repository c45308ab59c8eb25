import type { Logger } from 'pino'
import { isDatabaseAway } from '../../db/client.ts'
import { startupSentence } from '../../db/startup-error.ts'

/** Logs one line when the database goes away, and one when it is back, no matter which part of the process notices first. */
export class Outage {
  readonly #log: Logger
  #since: number | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  /** Whether `error` says that the database is away. */
  hasBegunWith(error: unknown): boolean {
    if (!isDatabaseAway(error)) return false
    if (this.#since === null) {
      this.#since = performance.now()
      this.#log.warn({ reason: startupSentence(error) }, 'the database is away; it is tried again until it is back')
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
