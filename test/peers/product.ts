import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { canEnter, findPostgres } from '../../db/embedded/postgres.ts'
import { until } from '../processes.ts'

const Root = resolve(import.meta.dirname, '../..')
const StartTimeoutMs = 120_000

export type Product = {
  url: string
  workers: () => Promise<number[]> // the ids of the worker processes
  log: () => string
  stop: () => Promise<void>
}

/** What `npm start` starts, with an empty database of its own: the bundles in build/, as production runs them. */
export async function startProduct(variables: Record<string, string>): Promise<Product> {
  const folder = await folderForPostgres()
  const leash = join(Root, 'server/run/end-with-parent.js') // all of it ends when the test is killed
  const child = spawn(process.execPath, ['--import', leash, '--enable-source-maps', 'build/start.js'], {
    cwd: Root,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATA_DIR: folder,
      PORT: '0',
      RATE_LIMIT: '0',
      ...variables,
    } as never,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let log = ''
  child.stdout?.on('data', (chunk) => (log += chunk))
  child.stderr?.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'exit')
  const url = await until(() => {
    if (child.exitCode !== null) throw new Error('It has ended.')
    return /^Punctual is at (.*)$/m.exec(log)?.[1]
  }, StartTimeoutMs).catch((cause) => {
    child.kill('SIGTERM')
    throw new Error(`The product does not start: ${log}`, { cause })
  })
  return {
    url,
    log: () => log,
    workers: () => childrenOf(child.pid ?? 0, 'build/worker.js'),
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      await rm(folder, { recursive: true, force: true })
      if (code !== 0) throw new Error(`The product ended with ${code}: ${log}`)
    },
  }
}

// Root's PostgreSQL runs as another user, who has to get in.
async function folderForPostgres(): Promise<string> {
  const postgres = await findPostgres(pino({ level: 'warn' }))
  const folder = await mkdtemp(join((await canEnter(postgres, tmpdir())) ? tmpdir() : '/var/tmp', 'punctual-peers-'))
  await chmod(folder, 0o755)
  return folder
}

async function childrenOf(pid: number, program: string): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number)
  const commands = await Promise.all(children.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')))
  return children.filter((_, i) => commands[i]?.includes(program))
}
