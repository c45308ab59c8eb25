import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Bounds, brief, type Connection, connect, type Db } from './client.ts'

/** How often the database is asked, how soon it must answer, and when a connection, and then the process, is given up. */
const proberTimes = { everyMs: 1000, answerMs: 1500, replaceMs: 5000, stuckMs: 60_000 }

const StepMs = 50
const asking: Bounds = { statementMs: 1000, lockMs: 1000, idleInTransactionMs: 1000 } // over before it counts as silence

/** The last line of a process that only another one can replace. */
export const StuckSentence = 'No query has finished for a minute, but the database answers others. Exiting.'

/** `unreachable`: it refuses, or nobody is there; `silent`: it is there and says nothing, as a frozen one. */
export type Answering = 'yes' | 'unreachable' | 'silent'

/** Whether the database answers, as of a moment ago. */
export type Prober = {
  answers: () => Answering
  /** When it last answered, as `performance.now()` has it. */
  answeredAt: () => number
  /** Ask something on a connection that neither requests nor the probe use. Throws when it takes longer than an answer may. */
  ask: <T>(question: (db: Db) => Promise<T>) => Promise<T>
  end: () => Promise<void>
}

type Watched = {
  /** How long the process's pool has been busy with nothing ending (db/client.ts). */
  stuckForMs: () => number
  /** The pool is stuck while a fresh connection answers: only another process can go on. */
  onStuck: () => void
  times?: typeof proberTimes
}

/**
 * Ask the database each second whether it answers, on a connection of this prober's own: a pool whose connections hang
 * says nothing of the database, nor the other way round. A connection that does not answer is replaced by a fresh one.
 */
export function startProber(url: string, { stuckForMs, onStuck, times = proberTimes }: Watched): Prober {
  const open = (bounds: Bounds) => connect(url, { connections: 1, name: 'probe', bounds })
  const halt = new AbortController()
  let connection = open(brief)
  let questions: Connection | null = null
  let state: Answering = 'yes' // the process has just connected to it
  let answeringSince = performance.now()
  let answeredAt = answeringSince
  let wasStuck = false

  /** Whether it answered. */
  async function probe(): Promise<boolean> {
    // In small steps: what passes while this process itself stands still is no silence of the database.
    let stepsLeft = times.answerMs / StepMs
    const silence = setInterval(() => {
      if (--stepsLeft <= 0) state = 'silent'
    }, StepMs)
    try {
      await within(times.replaceMs, connection.db.execute(sql`select 1`))
      answeredAt = performance.now()
      if (state !== 'yes') answeringSince = performance.now()
      state = 'yes'
      return true
    } catch (error) {
      if (error instanceof TooLate) {
        forget(connection)
        connection = open(brief)
      } else state = 'unreachable'
      return false
    } finally {
      clearInterval(silence)
    }
  }

  async function ask<T>(question: (db: Db) => Promise<T>): Promise<T> {
    questions ??= open(asking)
    const asked = questions
    try {
      return await within(times.answerMs, question(asked.db))
    } catch (error) {
      if (error instanceof TooLate) {
        forget(asked)
        questions = null
      }
      throw error
    }
  }

  const probing = (async () => {
    while (!halt.signal.aborted) {
      const isAnswered = await probe()
      const stuckMs = Math.min(stuckForMs(), performance.now() - answeringSince)
      const isStuck = isAnswered && stuckMs > times.stuckMs
      if (isStuck && wasStuck) return onStuck() // twice: this process may have stood still, with all answers yet to be read
      wasStuck = isStuck
      await sleep(times.everyMs, undefined, { ref: false, signal: halt.signal }).catch(() => {})
    }
  })()
  return {
    answers: () => state,
    answeredAt: () => answeredAt,
    ask,
    async end() {
      halt.abort()
      await Promise.race([probing, sleep(times.answerMs, undefined, { ref: false })])
      await Promise.all([connection.end(), questions?.end()])
    },
  }
}

function forget(connection: Connection): void {
  connection.end().catch(() => {}) // its last words are of no use
}

/** An answer that took longer than it may. */
export class TooLate extends Error {}

async function within<T>(ms: number, asked: PromiseLike<T>): Promise<T> {
  const answer = Promise.resolve(asked) // drizzle sends a statement again at each `then`
  const over = new AbortController()
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new TooLate(`The database did not answer within ${ms} ms.`)
  })
  late.catch(() => {}) // aborted, or heard below
  answer.catch(() => {}) // it may fail when nobody listens any more
  return Promise.race([answer, late]).finally(() => over.abort())
}
