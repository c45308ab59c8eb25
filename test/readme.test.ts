import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase } from './postgres/database.ts'
import { type Site, type Started, startWeb, startWorker, testSite } from './processes.ts'

const Root = resolve(import.meta.dirname, '..')
const run = promisify(execFile)

let site: Site
const started: Started[] = []
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const database = await testDatabase()
  site = await testSite(database.url)
  started.push(...(await Promise.all([startWeb(site), startWorker(site, { timesFactor: 1 })])))
  ends.push(database.end, site.end)
})
afterAll(async () => {
  await Promise.all(started.map((process) => process.stop()))
  for (const end of ends.reverse()) await end()
})

test('the curl lines of the README do what it says', async () => {
  const readme = await readFile(resolve(Root, 'README.md'), 'utf8')
  const lines = readme.match(/<!-- test\/readme.test.ts[^\n]*\n```sh\n([\s\S]*?)```/)?.[1]
  expect(lines).toBeDefined()
  const script = lines!
    .replaceAll('http://localhost:3000', site.appUrl)
    .replaceAll('npm run --silent admin --', `node ${JSON.stringify(resolve(Root, 'build/admin.js'))}`)
    // A fast machine needs less than the README's pause, a busy one more.
    .replace(
      'sleep 2',
      'until curl -sS "$API/posts/$(echo "$post" | json .id)" -H "Authorization: $KEY" | grep -q \'"status":"PUBLISHED"\'; do sleep 0.2; done',
    )
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: Root,
    env: { ...site.env, NODE_ENV: 'production', PATH: process.env.PATH ?? '' },
    timeout: 120_000,
  })
  expect(stdout).toContain('"credential":{"kind":"api_key"')
  expect(stdout).toContain('"network":"feed"')
  expect(stdout).toContain('"status":"PUBLISHED"')
  expect(stdout).toMatch(/204\n$/)
}, 150_000)
