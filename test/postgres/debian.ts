import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach } from 'vitest'
import type { Postgres } from '../../db/embedded/postgres.ts'

const run = promisify(execFile)
const Root = '/usr/lib/postgresql'
const needed = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore', 'pg_basebackup']

/** Debian's PostgreSQL with its tools, the newest; what npm installs has a server only. Null where it is not whole. */
export async function findDebianPostgres(): Promise<Postgres | null> {
  const versions = existsSync(Root) ? readdirSync(Root).sort((a, b) => Number(b) - Number(a)) : []
  const bin = versions.map((version) => join(Root, version, 'bin')).find(isWhole)
  if (!bin || process.getuid?.() !== 0) return bin ? { bin, user: {} } : null
  const id = async (which: string) => Number((await run('id', [which, 'postgres'])).stdout)
  return { bin, user: { uid: await id('-u'), gid: await id('-g') } }
}

function isWhole(bin: string): boolean {
  return needed.every((name) => existsSync(join(bin, name)))
}

/** Debian's PostgreSQL for the file's tests; without it they are skipped, by name. */
export async function withDebianPostgres(): Promise<Postgres> {
  const postgres = await findDebianPostgres()
  beforeEach(({ skip }) => {
    skip(!postgres, 'no PostgreSQL with its tools is found: install Debian’s postgresql and postgresql-client')
  })
  return postgres ?? { bin: '', user: {} }
}
