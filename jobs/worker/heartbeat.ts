import { setTimeout as sleep } from 'node:timers/promises'
import { brief, connect, type Tx } from '../../db/client.ts'
import { print } from '../../db/log.ts'
import { announceEnd, beSeen, forgetDead, isPresent, registerWorker, showPresence } from '../monitoring/presence.ts'
import type { Times } from '../timeouts-and-delays.ts'

const AnnouncedWithinMs = 600_000
const AnnounceWaitMs = 2000
const GoodbyeMs = 5000 // a dead connection never answers
const AgainMs = 50 // how often we ask for a lost lock: within a second, others think that its owner is dead

/** A worker's heartbeat, on its own connection. */
export type Life = {
  begin: (owner: string, concurrency: number) => Promise<void>
  /** Record a heartbeat, and do `work` on the same connection. */
  beat: (work: (tx: Tx) => Promise<void>) => Promise<void>
  end: () => Promise<void>
}

/**
 * Show that a worker is alive: its connection's session holds a lock. When PostgreSQL ends that session or the
 * connection breaks, `onLost` is called at once, and we take the lock again as soon as possible. So nobody takes over
 * what is being sent, and no crash is counted, while this worker finishes it. If the connection does not answer but the
 * database answers others, it counts as lost. If the database answers no one, we wait: what we send meanwhile has
 * recorded its intent before.
 */
export function showLife(
  databaseUrl: string,
  { silenceMs }: Pick<Times, 'silenceMs'>,
  { onLost, isSilent }: { onLost: () => void; isSilent: () => boolean },
): Life {
  let owner: string | null = null
  const { db, end } = connect(databaseUrl, {
    connections: 1,
    name: 'presence',
    bounds: brief,
    onClose: () => void lost(),
  })

  async function lost(): Promise<void> {
    if (!owner) return // the worker has not begun, or has ended
    onLost()
    while (owner && !(await showPresence(db, owner).catch(() => false))) await sleep(AgainMs)
  }

  async function beat(present: string, work: (tx: Tx) => Promise<void>): Promise<void> {
    if (!(await isPresent(db, present))) void lost()
    await beSeen(db, present)
    await work(db)
  }

  // Other workers find the lock free. If the database is away, we retry until it is back or the process ends.
  function announced(ended: string): Promise<unknown> {
    return Promise.race([announceEnd(databaseUrl, ended, AnnouncedWithinMs), sleep(AnnounceWaitMs)])
  }

  return {
    async begin(begun, concurrency) {
      await showPresence(db, begun)
      await registerWorker(db, begun, concurrency)
      owner = begun
    },
    async beat(work) {
      if (!owner) return
      const beating = beat(owner, work)
      const silence = () => sleep(silenceMs, 'silent' as const, { ref: false })
      while ((await Promise.race([beating, silence()])) === 'silent') if (!isSilent()) return onLost()
    },
    async end() {
      const ended = owner
      owner = null
      const forgotten = ended && forgetDead(db, [ended]).catch(() => announced(ended))
      await Promise.race([forgotten, sleep(GoodbyeMs, undefined, { ref: false })])
      await end()
    },
  }
}

const OfTheDisk = /^(ENOSPC|EDQUOT|EROFS|EIO|EPIPE)$/

/** An uncaught error ends the process, as usual. No post causes a disk or pipe error: we call `announce` first. */
export function announceDiskErrors(announce: () => Promise<unknown>): void {
  process.once('uncaughtException', async (error: NodeJS.ErrnoException) => {
    print(error.stack ?? String(error), process.stderr)
    if (OfTheDisk.test(error.code ?? '')) await announce()
    process.exit(1)
  })
}
