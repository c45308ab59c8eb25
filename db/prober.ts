import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Bounds, brief, type Connection, connect, type Db } from './client.ts'

/** How often we ask the database, how soon it must answer, and when we give up a connection, and then the process. */
const proberTimes = { everyMs: 1000, answerMs: 1500, replaceMs: 5000, stuckMs: 60_000 }

const StepMs = 50
const asking: Bounds = { statementMs: 1000, lockMs: 1000, idleInTransactionMs: 1000 } // shorter than answerMs

/** The last log line of a stuck process, before it exits to be replaced. */
export const StuckSentence = 'No query has finished for a minute, but the database answers other connections. Exiting.'

/** `unreachable`: it refuses connections or is not there. `silent`: it is there but does not answer, as when frozen. */
export type Answering = 'yes' | 'unreachable' | 'silent'

/** Whether the database answered a moment ago. */
export type Prober = {
  answers: () => Answering
  /** When it last answered, in the time of `performance.now()`. */
  answeredAt: () => number
  /** Run a query on a separate connection, not used by requests or the probe. Throws if the answer is too late. */
  ask: <T>(question: (db: Db) => Promise<T>) => Promise<T>
  end: () => Promise<void>
}

type Watched = {
  /** How long the process's pool has been busy without finishing anything (db/client.ts). */
  stuckForMs: () => number
  /** The pool is stuck while a new connection answers. Only a new process can continue. */
  onStuck: () => void
  times?: typeof proberTimes
}

/**
 * Check each second whether the database answers, on a separate connection: a pool that hangs says nothing about the
 * database, and the reverse. We replace a connection that does not answer.
 */
export function startProber(url: string, watched: Watched): Prober {
  return new ConnectionProber(url, watched)
}

class ConnectionProber implements Prober {
  readonly #open: (bounds: Bounds) => Connection
  readonly #watched: Required<Watched>
  readonly #halt = new AbortController()
  readonly #probing: Promise<void>
  #connection: Connection
  #questions: Connection | null = null
  #state: Answering = 'yes' // the process has just connected to it
  #answeringSince = performance.now()
  #answeredAt = performance.now()

  constructor(url: string, watched: Watched) {
    this.#open = (bounds) => connect(url, { connections: 1, name: 'probe', bounds })
    this.#watched = { times: proberTimes, ...watched }
    this.#connection = this.#open(brief)
    this.#probing = this.#probeOften()
  }

  answers(): Answering {
    return this.#state
  }

  answeredAt(): number {
    return this.#answeredAt
  }

  async ask<T>(question: (db: Db) => Promise<T>): Promise<T> {
    this.#questions ??= this.#open(asking)
    const asked = this.#questions
    try {
      return await within(this.#watched.times.answerMs, question(asked.db))
    } catch (error) {
      if (error instanceof TooLate) {
        forget(asked)
        this.#questions = null
      }
      throw error
    }
  }

  async end(): Promise<void> {
    this.#halt.abort()
    await Promise.race([this.#probing, sleep(this.#watched.times.answerMs, undefined, { ref: false })])
    await Promise.all([this.#connection.end(), this.#questions?.end()])
  }

  async #probeOften(): Promise<void> {
    const { times, stuckForMs, onStuck } = this.#watched
    let wasStuck = false
    while (!this.#halt.signal.aborted) {
      const isAnswered = await this.#probe()
      const stuckMs = Math.min(stuckForMs(), performance.now() - this.#answeringSince)
      const isStuck = isAnswered && stuckMs > times.stuckMs
      if (isStuck && wasStuck) return onStuck() // twice: this process may have been frozen, with answers still unread
      wasStuck = isStuck
      await sleep(times.everyMs, undefined, { ref: false, signal: this.#halt.signal }).catch(() => {})
    }
  }

  /** Whether the database answered. */
  async #probe(): Promise<boolean> {
    const { times } = this.#watched
    // In small steps: the database does not count as silent while this process is frozen.
    let stepsLeft = times.answerMs / StepMs
    const silence = setInterval(() => {
      if (--stepsLeft <= 0) this.#state = 'silent'
    }, StepMs)
    try {
      await within(times.replaceMs, this.#connection.db.execute(sql`select 1`))
      this.#answeredAt = performance.now()
      if (this.#state !== 'yes') this.#answeringSince = this.#answeredAt
      this.#state = 'yes'
      return true
    } catch (error) {
      if (error instanceof TooLate) {
        forget(this.#connection)
        this.#connection = this.#open(brief)
      } else this.#state = 'unreachable'
      return false
    } finally {
      clearInterval(silence)
    }
  }
}

function forget(connection: Connection): void {
  connection.end().catch(() => {}) // we don't need its last answer
}

/** The answer took too long. */
export class TooLate extends Error {}

async function within<T>(ms: number, asked: PromiseLike<T>): Promise<T> {
  const answer = Promise.resolve(asked) // drizzle sends a statement again at each `then`
  const over = new AbortController()
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new TooLate(`The database did not answer within ${ms} ms.`)
  })
  late.catch(() => {}) // aborted, or handled below
  answer.catch(() => {}) // it may fail after we stopped to listen
  return Promise.race([answer, late]).finally(() => over.abort())
}
