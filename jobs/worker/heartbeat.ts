import { setTimeout as sleep } from 'node:timers/promises'
import { brief, connect, type Tx } from '../../db/client.ts'
import { print } from '../../db/log.ts'
import type { Times } from '../durations.ts'
import { announceEnd, beSeen, forgetDead, isPresent, registerWorker, showPresence } from '../monitoring/presence.ts'

const AnnouncedWithinMs = 600_000
const AnnounceWaitMs = 2000
const GoodbyeMs = 5000 // a connection that is dead hears none
const AgainMs = 50 // a lock that was lost is asked for as often: others take its owner for dead within a second

/** A worker's heartbeat, on a connection of its own. */
export type Life = {
  begin: (owner: string, concurrency: number) => Promise<void>
  /** Be seen, and do `work` on the same connection. */
  beat: (work: (tx: Tx) => Promise<void>) => Promise<void>
  end: () => Promise<void>
}

/**
 * Show that a worker lives by a lock of its connection's session. When PostgreSQL ends that session or the connection
 * breaks, `onLost` hears of it at once, and the lock is taken again as soon as can be: nobody takes over what is being
 * sent, and no crash is counted, while the worker ends it. A connection that is there and dead, while the database
 * answers others, counts as lost; while it is silent to all, this waits: what is sent meanwhile was intended before.
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
    if (!owner) return // it has not begun, or has ended
    onLost()
    while (owner && !(await showPresence(db, owner).catch(() => false))) await sleep(AgainMs)
  }

  async function beat(present: string, work: (tx: Tx) => Promise<void>): Promise<void> {
    if (!(await isPresent(db, present))) void lost()
    await beSeen(db, present)
    await work(db)
  }

  // Others find the lock free. The database is away: this goes on until it is back, unless the process is ended before.
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

/** An error that nobody caught ends the process, as ever. One of the disk or of a pipe is no post's fault: `announce` says so first. */
export function announceDiskErrors(announce: () => Promise<unknown>): void {
  process.once('uncaughtException', async (error: NodeJS.ErrnoException) => {
    print(error.stack ?? String(error), process.stderr)
    if (OfTheDisk.test(error.code ?? '')) await announce()
    process.exit(1)
  })
}
