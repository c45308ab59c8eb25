import { readFile } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import type { TestContext } from 'vitest'
import type { Db } from '../../db/client.ts'
import { someDeliveries } from '../builders.ts'
import { until } from '../processes.ts'
import { type Kind, kinds } from '../stand-ins/fake-network.ts'
import { deliveryOf, statesOf, type World, world } from '../world.ts'

/** A world for one test, so that the tests of a file can run at the same time. */
export async function ownWorld({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Promise<World> {
  const w = await world()
  onTestFinished(w.end)
  return w
}

/** A delivery of each kind, each on its own channel, all due now. Returns their ids by kind. */
export async function oneOfEach(w: World, token?: string): Promise<Record<Kind, string>> {
  const channelIds = await Promise.all(kinds.map((kind) => w.channel(kind, token)))
  const wanted = channelIds.map((channelId) => ({ organisationId: w.organisationId, channelId, dueAt: new Date() }))
  const ids = await someDeliveries(w.db, wanted)
  return Object.fromEntries(kinds.map((kind, i) => [kind, ids[i]])) as Record<Kind, string>
}

/** Waits until each of `ids` has ended or needs review. */
export async function untilEnded({ db }: World, ids: string[]): Promise<void> {
  const ends = ['published', 'failed', 'held', 'needs_review', 'cancelled']
  await until(async () => (await statesOf(db, ids)).every((state) => ends.includes(state)))
}

/** How a delivery ended, how often it was sent, and how many of its posts are visible. */
export async function endOf({ db, fake }: World, id: string) {
  const { state, evidence, publishKey } = await deliveryOf(db, id)
  const count = (of: { key: string }[]) => of.filter(({ key }) => key === publishKey).length
  return { state, evidence, sent: count(fake.received), out: count(fake.posts) }
}

/** A claim that a worker has, or had. */
type Lease = { token: string; isOver: boolean }

export async function leasesOf(db: Db): Promise<Lease[]> {
  return db.execute<Lease>(sql`
    select lease_token as token, lease_until < now() as "isOver" from deliveries where state in ('claimed', 'sending')`)
}

/** Waits until no worker has any of these leases any more. */
export function untilTakenUp(db: Db, left: Lease[], withinMs: number): Promise<boolean> {
  const tokens = new Set([...left].map(({ token }) => token))
  return until(async () => !(await leasesOf(db)).some(({ token }) => tokens.has(token)), withinMs)
}

/** Waits until a process is frozen (SIGSTOP). */
export function untilFrozen(pid: number): Promise<boolean> {
  return until(async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')))
}

/** A worker that is restarted whenever it ends, as a service manager does. `stop` ends it without a restart. */
export function supervised(w: World, way: Parameters<World['worker']>[0] = {}) {
  const ran: Awaited<ReturnType<World['worker']>>[] = []
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      const worker = await w.worker({ ...way, mayEnd: true })
      ran.push(worker)
      if (isOver) worker.kill('SIGKILL')
      await worker.ended
    }
  })()
  return {
    ran,
    now: () => ran.at(-1)!,
    async stop() {
      isOver = true
      ran.at(-1)?.kill('SIGKILL')
      await running
    },
  }
}
