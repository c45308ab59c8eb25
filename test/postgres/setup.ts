import type { TestProject } from 'vitest/node'
import type { Postgres } from '../../db/embedded/postgres.ts'
import { bundlePrograms } from '../run/bundles.ts'
import { startCluster } from './cluster.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: string // the server's address, up to the name of a database
  }
}

const NothingSurvives = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '400' }

let end = async () => {}

/** Before the whole run: the programs, bundled, and one PostgreSQL with a migrated database that each test file copies. */
export function setup(project: TestProject): Promise<void> {
  return prepare(project)
}

/** Likewise with a PostgreSQL that is not npm's. */
export async function prepare(project: TestProject, other?: Postgres): Promise<void> {
  await bundlePrograms()
  const cluster = await startCluster(NothingSurvives, other)
  end = cluster.end
  project.provide('postgres', cluster.server)
}

export async function teardown(): Promise<void> {
  await end()
}
