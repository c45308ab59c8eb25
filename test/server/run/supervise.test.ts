import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { variablesWith } from '../../../db/env.ts'
import { keepRunning } from '../../../server/run/supervise.ts'

let folder: string
let diary: string // where the child writes a line for all that happens to it
let program: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'punctual-child-'))
  diary = join(folder, 'diary')
  program = join(folder, 'child.js')
  await writeFile(
    program,
    `const { appendFileSync } = require('node:fs')
    const note = (line) => appendFileSync(${JSON.stringify(diary)}, line + '\\n')
    process.on('SIGTERM', () => setTimeout(() => { note('ended'); process.exit(0) }, 200))
    setInterval(() => {}, 1000)
    note('began ' + process.pid)`,
  )
})
afterEach(() => rm(folder, { recursive: true }))

test('stop lets the child end what it is at, and waits for that', async () => {
  const child = keepRunning('test', [program], variablesWith({}), pino({ level: 'silent' }))
  await expect.poll(lines).toHaveLength(1)

  await child.stop()

  expect(await lines()).toEqual([expect.stringMatching('began'), 'ended'])
})

test('a child that ends unasked is started again', async () => {
  const child = keepRunning('test', [program], variablesWith({}), pino({ level: 'silent' }))
  await expect.poll(lines).toHaveLength(1)

  process.kill(await pidIn(0), 'SIGKILL')

  await expect.poll(lines).toHaveLength(2)
  expect(await pidIn(1)).not.toBe(await pidIn(0))
  await child.stop()
})

test('when its parent is killed, the child gets a SIGTERM', async () => {
  const script = `
    import { pino } from 'pino'
    import { variablesWith } from './db/env.ts'
    import { keepRunning } from './server/run/supervise.ts'
    keepRunning('test', [${JSON.stringify(program)}], variablesWith({}), pino({ level: 'silent' }))`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
  await expect.poll(lines).toHaveLength(1)

  parent.kill('SIGKILL')
  await once(parent, 'exit')

  await expect.poll(lines).toEqual([expect.stringMatching('began'), 'ended'])
})

async function lines(): Promise<string[]> {
  return (await readFile(diary, 'utf8').catch(() => '')).split('\n').filter(Boolean)
}

async function pidIn(line: number): Promise<number> {
  return Number((await lines())[line]?.split(' ')[1])
}
