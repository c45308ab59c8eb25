import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { connect } from '../../db/client.ts'
import { canEnter, createCluster, findPostgres, give, type Postgres, startServer } from '../../db/embedded/postgres.ts'
import { migrate } from '../../db/migrate.ts'
import { freePort } from '../port.ts'

/** A PostgreSQL of its own. `server` is its address up to the name of a database. */
export type Cluster = {
  server: string
  folder: string
  home: string // where `folder` is, and what goes with it at the end
  /** fast: what was under way is ended in order; immediate: as if it had crashed. */
  stop: (mode: 'fast' | 'immediate') => Promise<void>
  start: () => Promise<void>
  /** Stop all its processes where they are (SIGSTOP): connections stay, and nothing answers. */
  freeze: () => Promise<void>
  thaw: () => Promise<void>
  end: () => Promise<void>
}

/**
 * A PostgreSQL of its own, of npm's version or an `other`, under these `settings`, with the migrated database `migrated` for others to copy.
 *
 * It and its folder go with `end`, or with this process.
 */
export async function startCluster(settings: Record<string, string>, other?: Postgres): Promise<Cluster> {
  const programs = other ?? (await findPostgres(pino({ level: 'error' })))
  const home = await openFolder(programs)
  const folder = join(home, 'cluster')
  const end = endWithUs(programs, folder, home)
  const password = randomBytes(12).toString('hex')
  const port = await freePort()
  const start = () => startServer(programs, folder, { port, settings })
  await createCluster(programs, folder, password)
  await start()
  const server = `postgres://punctual:${password}@127.0.0.1:${port}`
  const postgres = connect(`${server}/postgres`, { connections: 1, name: 'test setup' })
  await postgres.db.execute(sql`create database migrated`)
  await postgres.end()
  await migrate(`${server}/migrated`)
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => signalCluster(folder, name)
  return {
    ...{ server, folder, home, start, end, stop: (mode) => stopCluster(programs, folder, mode) },
    ...{ freeze: () => signal('SIGSTOP'), thaw: () => signal('SIGCONT') },
  }
}

async function stopCluster({ bin, user }: Postgres, folder: string, mode: string): Promise<void> {
  await promisify(execFile)(join(bin, 'pg_ctl'), ['stop', '-w', '-m', mode, '-D', folder], { ...user, cwd: '/' })
}

// The postmaster first: it makes the others.
async function signalCluster(folder: string, signal: NodeJS.Signals): Promise<void> {
  const [postmaster] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(postmaster), signal)
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  for (const pid of children.split(' ').filter(Boolean)) {
    try {
      process.kill(Number(pid), signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // ended meanwhile
    }
  }
}

async function openFolder(programs: Postgres): Promise<string> {
  const home = await mkdtemp(join((await canEnter(programs, tmpdir())) ? tmpdir() : '/var/tmp', 'punctual-test-'))
  await give(programs, home)
  return home
}

// A shell that waits for the end of its input ends the server, also when this process is killed.
function endWithUs({ bin, user }: Postgres, folder: string, home: string): () => Promise<void> {
  const script = 'cat; "$1" stop -w -m immediate -D "$2"; rm -rf "$3"'
  const watcher = spawn('sh', ['-c', script, 'sh', join(bin, 'pg_ctl'), folder, home], {
    ...user,
    cwd: '/',
    detached: true, // a Ctrl-C is not for it
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return async () => {
    watcher.stdin.end()
    await once(watcher, 'exit')
  }
}
