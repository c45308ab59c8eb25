import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { folderOf, withPrograms } from './program.ts'

const run = promisify(execFile)
const programs = withPrograms('systemd-analyze')
const deploy = resolve(import.meta.dirname, '../../docs/deploy')
const units = readdirSync(deploy).filter((name) => name.endsWith('.service'))
const unit = (name: string) => readFileSync(join(deploy, name), 'utf8')
const ExposureAtMost = 20 // of 100, in systemd-analyze's scale; a unit without any settings has 96

test.each(units)('systemd reads %s without a warning, and rates it as well isolated', async (name) => {
  const instance = name.replace('@', '@3001')
  const { path, end } = await folderOf({ [instance]: unit(name) })
  const verified = await run(programs['systemd-analyze'], ['verify', '--man=no', join(path, instance)])
  expect(verified).toEqual({ stdout: '', stderr: '' })
  const judge = ['security', '--offline=yes', `--threshold=${ExposureAtMost}`, join(path, instance)]
  await run(programs['systemd-analyze'], judge) // throws above the threshold
  await end()
})

test('each unit runs a program that the build makes, restarts it always, and gives it enough time to stop', () => {
  expect(units).toHaveLength(3)
  const seconds = (name: string) => Number(/^TimeoutStopSec=(\d+)$/m.exec(unit(name))?.[1])
  expect(seconds('punctual-web@.service')).toBeGreaterThanOrEqual(30)
  expect(seconds('punctual-worker@.service')).toBeGreaterThanOrEqual(60)
  expect(seconds('punctual.service')).toBeGreaterThanOrEqual(90)
  for (const name of units) {
    expect(unit(name)).toMatch(/^ExecStart=.* build\/(web|worker|start)\.js$/m)
    expect(unit(name)).toMatch(/^Restart=always$/m)
    expect(unit(name)).not.toMatch(/^MemoryDenyWriteExecute/m) // V8 could not compile
  }
})

test('a restart of a web unit waits until the process is ready', async ({ onTestFinished }) => {
  let asked = 0
  const server = createServer((_req, res) => void res.writeHead(++asked < 3 ? 503 : 200).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const [, command = ''] = /^ExecStartPost=-(.+)$/m.exec(unit('punctual-web@.service')) ?? []
  await run('sh', [
    '-c',
    command.replaceAll('%i', String(port)).replace(/\S+\/node_modules\/.bin\/node /, `"${process.execPath}" `),
  ])
  expect(asked).toBe(3)
})
