import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'

export type Row = Record<string, unknown>
const tables = ['channels', 'posts', 'deliveries', 'attempts', 'workers'] as const
/** The rows of the tables that the engine changes, as JSON. */
export type Rows = Record<(typeof tables)[number], Row[]>

type Columns = { names: string[]; instants: string[] }

/**
 * Reads the rows in the transaction `tx`, replaces them with others, and lets time pass by moving all their times
 * back. Putting the same rows again only rolls back to the savepoint.
 */
export async function openRows(tx: Tx) {
  const columns = await columnsOf(tx)
  let here: Rows | null = null
  return {
    read: () => readRows(tx),
    async put(rows: Rows): Promise<void> {
      if (rows === here) return void (await tx.execute(sql`rollback to savepoint here`))
      await tx.execute(sql`rollback to savepoint empty`)
      await writeRows(tx, columns, rows)
      await tx.execute(sql`savepoint here`)
      here = rows
    },
    async pass(ms: number): Promise<void> {
      for (const table of tables) {
        const moved = columns[table]!.instants.map(
          (name) => sql`${sql.identifier(name)} = ${sql.identifier(name)} - ${ms} * interval '1 millisecond'`,
        )
        await tx.execute(sql`update ${sql.identifier(table)} set ${sql.join(moved, sql`, `)}`)
      }
    },
  }
}

async function columnsOf(tx: Tx): Promise<Record<string, Columns>> {
  const rows = await tx.execute<Columns & { table: string }>(sql`
    select table_name as table, array_agg(column_name::text) as names,
      coalesce(array_agg(column_name::text) filter (where data_type like 'timestamp%'), '{}') as instants
    from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER' group by 1`)
  return Object.fromEntries([...rows].map(({ table, ...columns }) => [table, columns]))
}

async function readRows(tx: Tx): Promise<Rows> {
  const parts = tables.map(
    (table) => sql`${table}::text, (select coalesce(jsonb_agg(to_jsonb(t)), '[]') from ${sql.identifier(table)} t)`,
  )
  const [row] = await tx.execute<{ rows: Rows }>(sql`select jsonb_build_object(${sql.join(parts, sql`, `)}) as rows`)
  return row!.rows
}

// Channels are updated, not replaced: rows from before the savepoint refer to them.
async function writeRows(tx: Tx, columns: Record<string, Columns>, rows: Rows): Promise<void> {
  const from = (table: keyof Rows) =>
    sql`jsonb_populate_recordset(null::${sql.identifier(table)}, ${JSON.stringify(rows[table])}::jsonb)`
  const names = (table: string, of: (name: string) => string = (name) => name): SQL =>
    sql.raw(columns[table]!.names.map((name) => of(`"${name}"`)).join(', '))
  const inserted = (table: keyof Rows) =>
    sql`insert into ${sql.identifier(table)} (${names(table)}) select ${names(table)} from ${from(table)}`
  await tx.execute(sql`
    with channel as (
      update channels c set ${names('channels', (name) => `${name} = s.${name}`)} from ${from('channels')} s where c.id = s.id
    ), post as (${inserted('posts')}), delivery as (${inserted('deliveries')}), attempt as (${inserted('attempts')})
    ${inserted('workers')}`)
}
