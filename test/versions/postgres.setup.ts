import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { findPostgres, type Postgres } from '../../db/embedded/postgres.ts'
import { findDebianPostgres } from '../postgres/debian.ts'
import { prepare, teardown } from '../postgres/setup.ts'

export { teardown }

/** The server of all tests, of the PostgreSQL that TEST_POSTGRES names: debian, or npm for the one of this folder's package.json. */
export async function setup(project: TestProject): Promise<void> {
  const programs = await findNamed(process.env.TEST_POSTGRES)
  const { stdout } = await promisify(execFile)(join(programs.bin, 'postgres'), ['--version'])
  process.stdout.write(`${stdout}`)
  // Without `npm ci` in this folder, npm's is the one that all other tests run on.
  if (/ 18[. ]/.test(stdout)) throw new Error('This is PostgreSQL 18, not an older one: run `npm run test:postgres`.')
  await prepare(project, programs)
}

async function findNamed(name: string | undefined): Promise<Postgres> {
  if (name === 'npm') return findPostgres(pino({ level: 'error' }), import.meta.url)
  if (name !== 'debian') throw new Error('TEST_POSTGRES must be debian or npm.')
  const debian = await findDebianPostgres()
  if (!debian)
    throw new Error('No PostgreSQL with its tools is found: install Debian’s postgresql and postgresql-client.')
  return debian
}
