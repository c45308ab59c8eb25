import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { withoutParameters } from '../../db/log.ts'
import { testDatabase } from '../postgres/database.ts'
import { until } from '../processes.ts'

test('a failed query is logged without its parameters', async () => {
  const { db, end } = await testDatabase()
  const secret = '$argon2id$secret\nof two lines'
  const failed = await db
    .execute(sql`insert into accounts (password_hash) values (${secret})`)
    .catch((error: Error) => error)
  const logged = JSON.stringify(withoutParameters(failed))
  expect(String((failed as Error).message)).toContain(secret) // this would be logged without `withoutParameters`
  expect(logged).toContain('Failed query')
  expect(logged).not.toContain('argon2id')
  expect(logged).not.toContain('of two lines')
  await end()
})

test('lines that a slow reader does not read are dropped and counted; the process goes on and reports the count when the reader reads again', async () => {
  const { exit, output, more } = program(`
    const line = 'x'.repeat(1000)
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 1000; i++) log.info({ line }, 'one of many')
      await sleep(1)
    }
    process.stderr.write('is at its end, with ' + droppedLines() + ' dropped\\n')
    process.stdin.resume() // until it is told to end
    await once(process.stdin, 'end')`)
  const said = await more()
  const dropped = Number(/with (\d+) dropped/.exec(said)?.[1])
  expect(dropped).toBeGreaterThan(10_000) // 20 MB, of which 4 MB wait
  const lines = await output('log lines were dropped')
  expect(lines.filter(({ msg }) => msg === 'one of many')).toHaveLength(20_000 - dropped)
  expect(lines.filter(({ msg }) => msg === 'log lines were dropped')).toMatchObject([
    { level: 40, dropped, reason: 'the reader is too slow' },
  ])
  expect(await exit).toBe(0)
})

test('the last lines before a process ends are written, however it ends', async () => {
  for (const end of ['process.exit(0)', 'throw new Error("of ours")']) {
    const { output } = program(`for (let i = 0; i < 100; i++) log.info({ i }, 'last words'); ${end}`)
    const written = (await output()).map(({ i }) => Number(i)).sort((a, b) => a - b) // on a busy machine the first may come last
    expect(written).toEqual(Array.from({ length: 100 }, (_, i) => i))
  }
})

test('a reader that never reads does not keep a process from ending', async () => {
  const { exit } = program(`for (let i = 0; i < 5000; i++) log.info('x'.repeat(500)); process.exit(0)`)
  expect(await exit).toBe(0)
})

/** A process that logs. `more` is what it prints first on standard error; `output` reads its log to the end, and lets
 * it end once `last` is in it. */
function program(body: string) {
  const script = `
    import { once } from 'node:events'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { createLog, droppedLines } from './db/log.ts'
    const log = createLog('test', 'info')
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' })
  const exit = once(child, 'exit').then(([code]) => code as number)
  const output = async (last = '') => {
    const isRead = once(child.stdout, 'end')
    let written = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => (written += chunk))
    await until(() => written.includes(last))
    child.stdin.end()
    await isRead
    const lines = written.trim().split('\n')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  return { exit, output, more: async () => String((await once(child.stderr, 'data'))[0]) }
}
