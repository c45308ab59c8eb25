import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { isSealedAnew, type KeyRing, open, SealError, seal } from '../../db/sealed.ts'
import type { Installation } from '../access/trpc.ts'

const RowsAtOnce = 200

/** A column of sealed bytes, and the field by which its place is known. Its table has `id` and `organisation_id`. */
type Column = { table: string; column: string; field: string }

/**
 * Everything that is sealed: the places of jobs/publish/network-session.ts, jobs/channels/revocations.ts,
 * jobs/webhooks/deliver.ts, jobs/mail/outbox.ts, channels.ts, client-registrations.ts and authorize.ts.
 */
export const sealedColumns: Column[] = [
  { table: 'channels', column: 'credential', field: 'credential' },
  { table: 'connect_flows', column: 'sealed', field: 'sealed' },
  { table: 'revocations', column: 'sealed', field: 'sealed' },
  { table: 'client_registrations', column: 'sealed', field: 'sealed' },
  { table: 'webhooks', column: 'secret', field: 'secret' },
  { table: 'webhooks', column: 'previous_secret', field: 'secret' },
  { table: 'authorization_requests', column: 'state', field: 'state' },
  { table: 'authorization_requests', column: 'answer', field: 'answer' },
  { table: 'mails', column: 'content', field: 'content' },
]

/** By table, how many values were sealed with the first key now and before; and a sentence for each that no key opens. */
export type Rotation = { tables: Record<string, { sealedAnew: number; sealedBefore: number }>; unopened: string[] }

/**
 * Seal everything again with the first key of the ring. Safe while everything runs, and safe to repeat. A value that no
 * key opens stays as it is. Processes that still have another first key keep sealing with that one.
 */
export async function rotateKey({ db, ring }: Pick<Installation, 'db' | 'ring'>): Promise<Rotation> {
  const rotation: Rotation = { tables: {}, unopened: [] }
  for (const column of sealedColumns) {
    rotation.tables[column.table] ??= { sealedAnew: 0, sealedBefore: 0 }
    for (let after = ''; ; ) {
      const rows = await rowsOf(db, column, after)
      for (const row of rows) await rotateRow(db, ring, column, row, rotation)
      if (rows.length < RowsAtOnce) break
      after = rows.at(-1)!.id
    }
  }
  return rotation
}

type Row = { id: string; organisationId: string | null; bytes: Uint8Array }

// An empty value is a connection that has just started: it is sealed a moment later.
async function rowsOf(db: Db, { table, column }: Column, after: string): Promise<Row[]> {
  const rows = await db.execute<Row>(sql`
    select id, organisation_id as "organisationId", ${sql.identifier(column)} as bytes from ${sql.identifier(table)}
    where octet_length(${sql.identifier(column)}) > 0 ${after ? sql`and id > ${after}` : sql``}
    order by id limit ${RowsAtOnce}`)
  return [...rows]
}

async function rotateRow(db: Db, ring: KeyRing, column: Column, row: Row, rotation: Rotation): Promise<void> {
  const counts = rotation.tables[column.table]!
  try {
    open(ring, placeOf(column, row), row.bytes)
    if (isSealedAnew(ring, row.bytes)) counts.sealedBefore++
    else if (await sealAnew(db, ring, column, row.id)) counts.sealedAnew++
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    rotation.unopened.push(error.message)
  }
}

// Read again under the row's lock: it may have another value by now. False when it has none any more.
function sealAnew(db: Db, ring: KeyRing, column: Column, id: string): Promise<boolean> {
  const [table, name] = [sql.identifier(column.table), sql.identifier(column.column)]
  return db.transaction(async (tx) => {
    const [row] = await tx.execute<Row>(sql`
      select id, organisation_id as "organisationId", ${name} as bytes from ${table}
      where id = ${id} and octet_length(${name}) > 0 for no key update`)
    if (!row) return false
    const place = placeOf(column, row)
    const bytes = seal(ring, place, open(ring, place, row.bytes))
    await tx.execute(sql`update ${table} set ${name} = ${bytes} where id = ${id}`)
    return true
  })
}

function placeOf({ table, field }: Column, { id, organisationId }: Row) {
  return { table, id, organisationId, field }
}
