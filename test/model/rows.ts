import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'

export type Row = Record<string, unknown>
const tables = ['channels', 'posts', 'deliveries', 'attempts', 'workers'] as const
/** The rows of the tables that the engine changes, as JSON. */
export type Rows = Record<(typeof tables)[number], Row[]>

const PutsUntilTidy = 500

type Columns = { names: string[]; instants: string[] }

/**
 * Reads the rows in the transaction `tx`, replaces them with others, and lets time pass by moving all their times
 * back. Putting the same rows again only rolls back to the savepoint.
 */
export async function openRows(tx: Tx) {
  const columns = await columnsOf(tx)
  await tx.execute(sql`prepare read_rows as select jsonb_build_object(${allRows}) as rows`)
  let here: Rows | null = null
  let puts = 0
  return {
    read: () => readRows(tx),
    async put(rows: Rows): Promise<void> {
      if (rows === here) return void (await tx.execute(sql`rollback to savepoint here`))
      await tx.execute(sql`rollback to savepoint empty`)
      if (++puts % PutsUntilTidy === 0) await tidy(tx)
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

// What was rolled back stays in the files until the transaction ends, and each statement reads past it. CLUSTER leaves it out.
async function tidy(tx: Tx): Promise<void> {
  await tx.execute(sql`release savepoint empty`)
  await tx.execute(sql`
    do $$ declare one record; begin
      for one in
        select i.indrelid::regclass as table, i.indexrelid::regclass as key from pg_index i join pg_class c on c.oid = i.indrelid
        where c.relnamespace = 'public'::regnamespace and i.indisprimary and pg_relation_size(c.oid) > 8192
      loop execute format('cluster %s using %s', one.table, one.key); end loop;
    end $$`)
  await tx.execute(sql`savepoint empty`)
}

async function columnsOf(tx: Tx): Promise<Record<string, Columns>> {
  const rows = await tx.execute<Columns & { table: string }>(sql`
    select table_name as table, array_agg(column_name::text) as names,
      coalesce(array_agg(column_name::text) filter (where data_type like 'timestamp%'), '{}') as instants
    from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER' group by 1`)
  return Object.fromEntries([...rows].map(({ table, ...columns }) => [table, columns]))
}

const allRows = sql.raw(
  tables.map((table) => `'${table}', (select coalesce(jsonb_agg(to_jsonb(t)), '[]') from ${table} t)`).join(', '),
)

async function readRows(tx: Tx): Promise<Rows> {
  const [row] = await tx.execute<{ rows: Rows }>(sql`execute read_rows`) // planned once
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
