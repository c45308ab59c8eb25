import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { version } from '../../db/program-version.ts'
import { overviewOf } from './operations.ts'

/** The state of the whole installation, for an operator at the command line. `storedBytes`: media without thumbnails. */
export async function statusOf(db: Db) {
  const [row] = await db.execute<{
    postgres: string
    migrations: number
    organisations: number
    storedBytes: number
  }>(sql`
    select current_setting('server_version') as postgres,
      (select count(*) from drizzle.__drizzle_migrations)::int as migrations,
      (select count(*) from organisations)::int as organisations,
      (select coalesce(sum(bytes), 0) from media)::float8 as "storedBytes"`)
  const { lateness: _halfHours, ...overview } = await overviewOf(db)
  return { version, ...row!, ...overview }
}
