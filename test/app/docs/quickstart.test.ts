import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Started, startWorker, until } from '../../processes.ts'
import { openWeb, type Web } from '../../server/web.ts'
import { startReceiver, verified } from '../../stand-ins/receiver.ts'
import { samplesOf } from './documentation.ts'

const run = promisify(execFile)

let w: Web
let worker: Started
let receiver: Awaited<ReturnType<typeof startReceiver>>
beforeAll(async () => {
  w = await openWeb()
  receiver = await startReceiver()
  worker = await startWorker(w.site, { timesFactor: 1 })
})
afterAll(async () => {
  await Promise.all([worker.stop(), receiver.end()])
  await w.end()
})

test('the commands of the quickstart do what it says, as they stand, from the key to the webhook', async () => {
  const channelId = await w.channel()
  const samples = samplesOf(await (await fetch(`${w.site.appUrl}/docs`)).text())
  expect(samples.length).toBeGreaterThan(6)
  const filled = samples.join('\n').replace('pak_live_…', w.key).replace('https://hooks.example/punctual', receiver.url)
  expect(filled).not.toContain('…')

  const stdout = await runInBash(filled)
  expect(stdout).toContain('"credential":{"kind":"api_key"')
  expect(stdout).toContain(`"channelIds":["${channelId}"]`)
  expect(stdout).toMatch(/"status":"PUBLISHED".*"url":"http/s)
  const secret = /whsec_[^"]+/.exec(stdout)![0]
  const told = await until(() => receiver.told.find(({ json }) => json.type === 'webhook.test'))
  expect(verified(secret, told)).toEqual(told.json)
}, 200_000)

async function runInBash(commands: string): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'punctual-quickstart-'))
  const env = { NODE_ENV: 'production' as const, PATH: process.env.PATH ?? '' }
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd, env, timeout: 150_000 })
  await rm(cwd, { recursive: true })
  return stdout
}
