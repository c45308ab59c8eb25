import { setTimeout as sleep } from 'node:timers/promises'
import { brief, connect, type Tx } from '../db/client.ts'
import { beSeen, enrol, forgetDead, isPresent, showPresence } from './presence.ts'
import type { Times } from './times.ts'

const AgainMs = 50 // a lock that was lost is asked for as often: others take its owner for dead within a second

/** A worker's sign of life, on a connection of its own. */
export type Life = {
  begin: (owner: string, concurrency: number) => Promise<void>
  /** Be seen, and do `work` on the same connection. */
  beat: (work: (tx: Tx) => Promise<void>) => Promise<void>
  end: () => Promise<void>
}

/**
 * Show that a worker lives by a lock of its connection's session. When PostgreSQL ends that session or the connection
 * breaks, `onLost` hears of it at once, and the lock is taken again as soon as can be: nobody takes over what is being
 * sent, and no crash is counted, while the worker ends it. `onSilence` hears that the connection is there and dead.
 */
export function showLife(
  databaseUrl: string,
  { silenceMs }: Pick<Times, 'silenceMs'>,
  { onLost, onSilence }: { onLost: () => void; onSilence: () => void },
): Life {
  let owner: string | null = null
  const { db, end } = connect(databaseUrl, {
    connections: 1,
    name: 'presence',
    bounds: brief,
    onClose: () => void lost(),
  })

  async function lost(): Promise<void> {
    if (!owner) return // it has not begun, or has ended
    onLost()
    while (owner && !(await showPresence(db, owner).catch(() => false))) await sleep(AgainMs)
  }

  async function beat(present: string, work: (tx: Tx) => Promise<void>): Promise<void> {
    if (!(await isPresent(db, present))) void lost()
    await beSeen(db, present)
    await work(db)
  }

  return {
    async begin(begun, concurrency) {
      await showPresence(db, begun)
      await enrol(db, begun, concurrency)
      owner = begun
    },
    async beat(work) {
      if (!owner) return
      const silence = sleep(silenceMs, 'silent' as const, { ref: false })
      if ((await Promise.race([beat(owner, work), silence])) === 'silent') onSilence()
    },
    async end() {
      const ended = owner
      owner = null
      if (ended) await forgetDead(db, [ended]).catch(() => {}) // others find the lock free
      await end()
    },
  }
}
