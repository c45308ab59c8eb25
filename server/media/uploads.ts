import { and, eq, type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { uploads } from '../../db/schema/media.ts'
import type { Installation, Upload } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { sizeOf, VideoBytesAtMost } from './limits.ts'

/** How many files an organisation may have fetched at a time, by all processes together. */
export const FetchesAtOnce = 4

const LeaseSeconds = 60
const LeastAheadBytes = 64 * 1024

type UploadSlot = { db: Db; quota: number; id: string; organisationId: string }

/** Begin an upload. Nothing is reserved yet. */
export function beginUpload({ db, env }: Pick<Installation, 'db' | 'env'>, organisationId: string): Upload {
  const slot: UploadSlot = { db, quota: env.storageQuota, id: uuidv7(), organisationId }
  let renewal: NodeJS.Timeout | null = null
  let isFetch = false
  let reserved = 0
  const keep = () => {
    renewal ??= setInterval(renew, (LeaseSeconds * 1000) / 3, slot).unref()
  }
  return {
    takePlace: async () => {
      isFetch = await takePlace(slot)
      if (isFetch) keep()
      return isFetch
    },
    reserve: async (bytes, expected = bytes + Math.max(LeastAheadBytes, Math.round(bytes / 4))) => {
      if (slot.quota === 0 || bytes <= reserved) return
      const wanted = Math.min(Math.max(bytes, expected), VideoBytesAtMost)
      reserved = await reserve(slot, { bytes, wanted, isFetch })
      keep()
    },
    settle: async (tx, bytes) => {
      if (slot.quota > 0) await settle(tx, slot, bytes)
    },
    [Symbol.asyncDispose]: async () => {
      if (!renewal) return
      clearInterval(renewal)
      await remove(db, slot).catch(() => {}) // then its lease expires
    },
  }
}

const leaseEnd = sql`now() + make_interval(secs => ${LeaseSeconds})`

function isThis({ id, organisationId }: UploadSlot) {
  return and(eq(uploads.id, id), eq(uploads.organisationId, organisationId))
}

async function takePlace({ db, id, organisationId }: UploadSlot): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockStorage(tx, organisationId)
    const [row] = await tx.execute<{ fetches: number }>(sql`
      select count(*)::int as fetches from uploads
      where organisation_id = ${organisationId} and is_fetch and lease_until > now()`)
    if (row!.fetches >= FetchesAtOnce) return false
    await tx.insert(uploads).values({ id, organisationId, isFetch: true, bytes: 0, leaseUntil: leaseEnd })
    return true
  })
}

type Reservation = { bytes: number; wanted: number; isFetch: boolean }

// Reserve more than has arrived, if it fits: then a streamed file need not ask for each piece.
async function reserve(
  { db, quota, id, organisationId }: UploadSlot,
  { bytes, wanted, isFetch }: Reservation,
): Promise<number> {
  return db.transaction(async (tx) => {
    await lockStorage(tx, organisationId)
    const used = await usedBy(tx, { id, organisationId })
    if (used + bytes > quota) throw full(used, quota)
    const ahead = Math.max(bytes, Math.min(wanted, quota - used))
    await tx
      .insert(uploads)
      .values({ id, organisationId, isFetch, bytes: ahead, leaseUntil: leaseEnd })
      .onConflictDoUpdate({ target: uploads.id, set: { bytes: ahead, leaseUntil: leaseEnd } })
    return ahead
  })
}

async function settle(tx: Tx, slot: UploadSlot, bytes: number): Promise<void> {
  await lockStorage(tx, slot.organisationId)
  const used = await usedBy(tx, slot)
  if (used + bytes > slot.quota) throw full(used, slot.quota)
  await remove(tx, slot)
}

async function remove(db: Db | Tx, slot: UploadSlot): Promise<void> {
  await db.delete(uploads).where(isThis(slot))
}

async function renew(slot: UploadSlot): Promise<void> {
  const renewed = slot.db.update(uploads).set({ leaseUntil: leaseEnd }).where(isThis(slot))
  await renewed.catch(() => {}) // the next one may get through
}

// Until `tx` ends: parallel uploads see what the others have reserved.
async function lockStorage(tx: Tx, organisationId: string): Promise<void> {
  await tx.execute(sql`select from organisations where id = ${organisationId} for no key update`)
}

/** The bytes of the organisation's media, and those reserved for its other uploads. */
async function usedBy(tx: Tx, { id, organisationId }: Pick<UploadSlot, 'id' | 'organisationId'>): Promise<number> {
  const [row] = await tx.execute<{ used: number }>(sql`
    select (${storedBytes(organisationId)} + (select coalesce(sum(bytes), 0) from uploads
      where organisation_id = ${organisationId} and lease_until > now() and id <> ${id}))::float8 as used`)
  return row!.used
}

/** SQL: the bytes of the organisation's media. */
export function storedBytes(organisationId: string): SQL {
  return sql`(select coalesce(sum(bytes), 0) from media where organisation_id = ${organisationId})`
}

function full(used: number, quota: number): Failure {
  const detail = `Your organisation uses ${sizeOf(used)} of its ${sizeOf(quota)} of storage, and this file does not fit. Delete files that no post uses, then try again.`
  return new Failure('storage_full', { detail })
}
