import { eq, inArray, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { attempts, deliveries } from '../db/schema/ledger.ts'
import { claimHeads, putAside } from '../jobs/ledger/claim.ts'
import { type ClaimedDelivery, intend } from '../jobs/ledger/ledger.ts'
import { times } from '../jobs/timeouts-and-delays.ts'
import { aChannel, aDelivery, anOrganisation } from './builders.ts'
import { testDatabase } from './postgres/database.ts'
import { type Started, startWorker, testSite, until, type WorkerWay } from './processes.ts'
import { type FakeNetwork, kinds, startFakeServer } from './stand-ins/fake-network.ts'

type WorldWay = {
  /** Used instead of one on the PostgreSQL of all tests. The processes get `url`, which may lead there another way. */
  database?: { db: Db; url: string; end: () => Promise<void> }
}

type WorkerWish = Omit<WorkerWay, 'networks'> & Pick<FakeNetwork, 'refreshTo' | 'canRefresh'>

/** A database, a site and a fake social network, with one organisation: the surroundings for a test of the engine. */
export async function world({ database: given }: WorldWay = {}) {
  const database = given ?? (await testDatabase())
  const { db } = database
  const site = await testSite(database.url)
  const fake = await startFakeServer()
  const { organisationId } = await anOrganisation(db)
  const running: Started[] = []
  const channel = (network: string, token?: string, of = organisationId) =>
    aChannel(db, site.secretKey, { organisationId: of, network, token: token ?? `good of ${of}` })
  const stopWorkers = async () => {
    for (const process of running) process.kill('SIGCONT') // a frozen process can't handle SIGTERM
    await Promise.all(running.splice(0).map((process) => process.stop()))
  }
  return {
    db,
    site,
    fake,
    organisationId,
    /**
     * A worker with a network of each kind, `other`, a second readable one, and three that cannot be reached:
     * `nameless` in DNS, `unreachable` when sending, and `unprepared` already when a post is prepared.
     */
    async worker({ refreshTo, canRefresh = false, ...way }: WorkerWish = {}) {
      const named = kinds.map((repeatedSend) => ({
        ...{ name: repeatedSend as string, url: fake.url, repeatedSend, canRefresh },
        ...(refreshTo === undefined ? {} : { refreshTo }),
      }))
      const networks = [
        { name: 'nameless', url: 'http://nowhere.invalid', repeatedSend: 'readable' as const },
        { name: 'unprepared', url: 'http://127.0.0.1:9', repeatedSend: 'two-step' as const },
        { name: 'unreachable', url: 'http://127.0.0.1:9', repeatedSend: 'readable' as const },
        ...named,
        { name: 'other', url: fake.url, repeatedSend: 'readable' as const },
      ]
      const started = await startWorker(site, { ...way, networks })
      running.push(started)
      return started
    },
    channel,
    stopWorkers,
    /** A post that is due on a new channel of `network`. */
    async delivery(network: string, dueAt = new Date()) {
      const channelId = await channel(network)
      return { channelId, id: await aDelivery(db, { organisationId, channelId, dueAt }) }
    },
    /** Stops the workers, makes the fake behave again, and lifts every limit and every pause. */
    async rest() {
      await stopWorkers()
      fake.reset()
      await db.execute(sql`update networks set at_once = null, paused_at = null`)
      await db.execute(sql`update channels set paused_at = null where paused_at is not null`)
      await db.execute(sql`update installation set paused_at = null, restored_at = null`)
    },
    async end() {
      await stopWorkers()
      await Promise.all([fake.end(), site.end()])
      await database.end()
    },
  }
}

export type World = Awaited<ReturnType<typeof world>>

export async function deliveryOf(db: Db, id: string) {
  const [row] = await db.select().from(deliveries).where(eq(deliveries.id, id))
  return row!
}

/** Waits until a delivery is in one of `states`, and returns it. */
export function untilState(db: Db, id: string, ...states: string[]) {
  return until(async () => {
    const row = await deliveryOf(db, id)
    return states.includes(row.state) && row
  })
}

export async function statesOf(db: Db, ids: string[]): Promise<string[]> {
  const rows = await db.select({ state: deliveries.state }).from(deliveries).where(inArray(deliveries.id, ids))
  return rows.map(({ state }) => state)
}

export function untilPublished(db: Db, ids: string[]) {
  return until(async () => (await statesOf(db, ids)).every((state) => state === 'published'))
}

export function attemptsOf(db: Db, deliveryId: string) {
  return db.select().from(attempts).where(eq(attempts.deliveryId, deliveryId)).orderBy(attempts.no)
}

/** Claims the first delivery on the channel of this one, as a worker of that owner would; null when it gets none. */
export async function claimOne(db: Db, owner: string, deliveryId: string): Promise<ClaimedDelivery | null> {
  const { channelId } = await deliveryOf(db, deliveryId)
  for (;;) {
    const claim = (await claimHeads(db, times, owner, [channelId])).get(channelId)!
    if (typeof claim !== 'object') return null
    if (!('lateOn' in claim)) return claim
    await putAside(db, times, channelId)
  }
}

/** Records the intent to send a delivery. */
export async function intendOne(db: Db, delivery: ClaimedDelivery, prepared: string): Promise<boolean> {
  const [intended] = await intend(db, times, [{ delivery, prepared }])
  return intended!
}
