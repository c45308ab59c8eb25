import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { variablesWith } from '../../../db/env.ts'

const Root = resolve(import.meta.dirname, '../../..')
const slow = { timeout: 100_000 } // initdb and the start of all processes
const starts: Started[] = []
let dataDir: string

beforeEach(async () => {
  expect(existsSync(join(Root, 'build/web.js')), 'run `npm run build` first').toBe(true)
  dataDir = await mkdtemp(join(tmpdir(), 'punctual-start-'))
  await chmod(dataDir, 0o755) // root's PostgreSQL runs as another user
})
afterEach(async () => {
  for (const { kill } of starts.splice(0)) await kill('SIGTERM')
  await rm(dataDir, { recursive: true })
})

test('one command opens the site, and SIGTERM ends worker, web and database in this order, with 0', async () => {
  const { log, kill } = await start({ DATABSE_URL: 'postgres://ignored@db.example/punctual' })
  await expect.poll(log, slow).toContain('"worker runs"') // may come last, and a worker that never ran says no end
  const { version } = JSON.parse(readFileSync(join(Root, 'package.json'), 'utf8'))
  for (const name of ['start', 'web', 'worker'])
    expect(firstLineOf(log(), name)).toMatchObject({ msg: `${name} starts`, version })
  expect(log()).toContain('"DATABSE_URL is not a setting of Punctual: did you mean DATABASE_URL?"')
  const url = log().match(/^Punctual is at (.*)$/m)?.[1]
  expect((await fetch(`${url}/readyz`)).status).toBe(200)

  expect(await kill('SIGTERM')).toBe(0)
  await expect.poll(log).toContain('"web drains"') // the last lines may be read after the exit

  const order = ['"worker stops"', '"web drains"'].map((line) => log().indexOf(line))
  expect(order.every((place) => place > 0)).toBe(true)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)
})

test('a Ctrl-C that npm hands on as well is one request: everything stops in its order, with 0', async () => {
  const { log, kill } = await start()
  void kill('SIGINT')
  await expect.poll(log).toContain('stopping worker, web and database')
  expect(await kill('SIGINT')).toBe(0)
  await expect.poll(log).toContain('"web drains"')
  expect(log()).not.toContain('stopping at once')
})

test('after a kill -9 the next start opens the same site, on the same port', async () => {
  const first = await start()
  const url = first.log().match(/^Punctual is at (.*)$/m)?.[1]
  await first.kill('SIGKILL')

  const second = await start({ PORT: new URL(url ?? '').port })

  expect(second.log()).toContain(`Punctual is at ${url}\n`)
})

test('a command in another shell prints the address where the site is, not the default one', async () => {
  const { log } = await start()
  const url = log().match(/^Punctual is at (.*)$/m)?.[1]
  const account = ['--email', 'ada@example.org', '--organisation', 'Ada', '--password', 'correct horse battery']
  const { organisation } = await admin({}, 'create-account', ...account)
  const connect = ['connect', 'feed', '--organisation', organisation.id, '--name']

  const channel = await admin({}, ...connect, 'One')

  expect(channel.url).toBe(`${url}/feeds/${channel.id}`)
  expect((await fetch(channel.url)).status).toBe(200)
  const elsewhere = await admin({ APP_URL: 'https://posts.example' }, ...connect, 'Two')
  expect(elsewhere.url).toBe(`https://posts.example/feeds/${elsewhere.id}`)
})

test('a port that another program uses gets a sentence', async () => {
  const first = await start()
  const port = first.log().match(/^Punctual is at .*:(\d+)$/m)?.[1] ?? ''

  const second = begin({ PORT: port })

  expect(await second.ended).toBe(1)
  expect(second.log().split('\n').slice(1).join('\n')).toBe(
    `Port ${port} is taken by another program: stop that one, or set PORT.\n`,
  )
})

function firstLineOf(log: string, name: string): unknown {
  return JSON.parse(log.split('\n').find((line) => line.includes(`"process":"${name}"`)) ?? 'null')
}

async function start(changes: Record<string, string> = {}): Promise<Started> {
  const started = begin(changes)
  await expect.poll(started.log, slow).toContain('Punctual is at')
  return started
}

async function admin(changes: Record<string, string>, ...command: string[]) {
  const env = variablesWith({ NODE_ENV: 'production', DATA_DIR: dataDir, PORT: '', APP_URL: '', ...changes })
  const { stdout } = await promisify(execFile)(process.execPath, ['build/admin.js', ...command], { cwd: Root, env })
  return JSON.parse(stdout)
}

type Started = {
  log: () => string
  ended: Promise<number | null>
  kill(signal: NodeJS.Signals): Promise<number | null>
}

function begin(changes: Record<string, string>): Started {
  const child = spawn(process.execPath, ['build/start.js'], {
    cwd: Root,
    env: variablesWith({ NODE_ENV: 'production', DATA_DIR: dataDir, PORT: '0', WORKER_PORT: '0', ...changes }),
  })
  let log = ''
  child.stdout.on('data', (chunk) => (log += chunk))
  child.stderr.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'exit').then(([code]) => code)
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  const started = { log: () => log, ended, kill }
  starts.push(started)
  return started
}
