import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'

/** Every column of every table as `schema.table.column`, with all its rows as text; bytes both as hexadecimal and read as text. */
export async function wholeDatabase(db: Db): Promise<Map<string, string>> {
  const columns = await db.execute<{ schema: string; table: string; column: string; isBytes: boolean }>(sql`
    select c.table_schema as schema, c.table_name as table, c.column_name as column, c.data_type = 'bytea' as "isBytes"
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where t.table_type = 'BASE TABLE' and c.table_schema not in ('pg_catalog', 'information_schema')`)
  const found = new Map<string, string>()
  for (const { schema, table, column, isBytes } of columns) {
    const name = sql`${sql.identifier(schema)}.${sql.identifier(table)}`
    const value = isBytes
      ? sql`encode(${sql.identifier(column)}, 'hex') || ' ' || encode(${sql.identifier(column)}, 'escape')`
      : sql`${sql.identifier(column)}::text`
    const [row] = await db.execute<{ all: string | null }>(sql`select string_agg(${value}, E'\n') as all from ${name}`)
    found.set(`${schema}.${table}.${column}`, row?.all ?? '')
  }
  return found
}

/** The forms under which a secret could still be used: as it is, encoded, as hexadecimal, as base64. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
}
