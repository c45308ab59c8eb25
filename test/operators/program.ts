import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { until } from '../processes.ts'

// System programs that operators run beside Punctual, from Debian's packages.

const Folders = ['/usr/bin', '/usr/sbin', '/usr/local/bin']
const Nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {} // pgbouncer and Caddy's package refuse root

/** A running program. `log` is everything that it wrote. */
export type Running = {
  pid: number
  log: () => string
  kill: (signal: NodeJS.Signals) => void
  end: () => Promise<void>
}

/** The paths of the programs. If one is missing, the tests of the file are skipped and name it. */
export function withPrograms<Name extends string>(...names: Name[]): Record<Name, string> {
  const paths = names.map((name) => [name, Folders.map((folder) => join(folder, name)).find(existsSync) ?? ''] as const)
  const missing = paths.filter(([, path]) => !path).map(([name]) => name)
  beforeEach(({ skip }) => {
    skip(missing.length > 0, `not found: install ${missing.join(', ')}`)
  })
  return Object.fromEntries(paths) as Record<Name, string>
}

/** A folder with these files in it, for a program that `startProgram` starts. */
export async function folderOf(files: Record<string, string>): Promise<{ path: string; end: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'punctual-program-'))
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(path, name), text)
    await chmod(join(path, name), 0o644)
  }
  if (Nobody.uid) await chown(path, Nobody.uid, Nobody.gid)
  return { path, end: () => rm(path, { recursive: true, force: true }) }
}

/** Starts a program in a folder, as the user nobody if we are root, and waits until `isUp` returns true. */
export async function startProgram(
  [path, ...args]: [string, ...string[]],
  cwd: string,
  isUp: (log: string) => Promise<boolean> | boolean,
): Promise<Running> {
  const child = spawn(path, args, {
    ...Nobody,
    cwd,
    env: { ...process.env, HOME: cwd, XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  let hasEnded = false
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'exit').then(() => {
    hasEnded = true
  })
  const kill = (signal: NodeJS.Signals) => void child.kill(signal)
  await until(async () => {
    if (hasEnded) throw new Error(`${path} ended:\n${log}`)
    return isUp(log)
  })
  const end = () => {
    kill('SIGCONT')
    kill('SIGTERM')
    return ended
  }
  return { pid: child.pid!, log: () => log, kill, end }
}
