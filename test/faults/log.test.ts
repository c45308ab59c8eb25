import { execFile } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { expect, type TestContext, test } from 'vitest'
import { freePort } from '../port.ts'
import { type Stdout, startAll, startWeb, until } from '../processes.ts'
import { deliveryOf, untilPublished } from '../world.ts'
import { assertInvariants } from './invariants.ts'
import { ownWorld } from './play.ts'

const run = promisify(execFile)

// A device that answers each write like a full disk (full(4)).
test('web and worker run, answer and publish while the disk under their log is full', async (context) => {
  const full = openSync('/dev/full', 'w')
  context.onTestFinished(() => closeSync(full))
  await publishes(context, full)
})

test('web and worker run, answer and publish after the reader of their standard output closes it', async (context) => {
  await publishes(context, 'closed')
})

test('web and worker run, answer and publish while a file system of 64 KB under their log is full', async (context) => {
  const folder = await smallDisk(context)
  context.skip(folder === null, 'a tmpfs cannot be mounted here: that takes root and the capability to mount')
  const file = openSync(join(folder!, 'log'), 'a')
  context.onTestFinished(() => closeSync(file))
  await writeFile(join(folder!, 'filler'), Buffer.alloc(64 * 1024)).catch(() => {}) // ENOSPC when no byte is left
  await publishes(context, file)
})

/** Starts a web process and a worker that write to `stdout`, and checks that posts go out and requests get answers. */
async function publishes(context: TestContext, stdout: Stdout): Promise<void> {
  const w = await ownWorld(context)
  const web = await startWeb(w.site, stdout)
  context.onTestFinished(async () => void (await web.stop()))
  const worker = await w.worker({ stdout, timesFactor: 1, env: { WORKER_PORT: String(await freePort()) } })
  const statusOf = async (url: string) => (await fetch(url)).status
  for (let i = 0; i < 5; i++) {
    const { id } = await w.delivery('blind')
    await untilPublished(w.db, [id])
    expect(await deliveryOf(w.db, id)).toMatchObject({ crashCount: 0, attemptNo: 1 })
    expect(await statusOf(`${w.site.appUrl}/public/v1/posts`)).toBe(401) // writes a line to the log
    expect(await statusOf(`${w.site.appUrl}/livez`)).toBe(200)
    expect(await statusOf(`${worker.healthUrl}/livez`)).toBe(200)
  }
  await assertInvariants(w)
  expect(await worker.stop()).toBe(0) // SIGTERM still works
  expect(await web.stop()).toBe(0)
}

async function smallDisk({ onTestFinished }: TestContext): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'punctual-disk-'))
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
  onTestFinished(async () => {
    if (isMounted) await run('umount', ['-l', folder])
    await rm(folder, { recursive: true, force: true })
  })
  return isMounted ? folder : null
}

test('`npm start` runs and answers while the disk under its output is full', async (context) => {
  const full = openSync('/dev/full', 'w')
  context.onTestFinished(() => closeSync(full))
  const w = await ownWorld(context)
  const all = await startAll(w.site, full)
  context.onTestFinished(async () => void (await all.stop()))
  await until(async () => (await w.db.execute(sql`select from workers`)).length === 1)
  expect((await fetch(`${w.site.appUrl}/livez`)).status).toBe(200)
  expect(all.log()).toBe('') // standard error
  expect(await all.stop()).toBe(0)
})

test('an admin command that cannot print its result says so in one sentence and exits with 1', async (context) => {
  const w = await ownWorld(context)
  const said = await run('sh', ['-c', `"$0" server/run/admin.ts overdue >/dev/full`, process.execPath], {
    env: { ...process.env, ...w.site.env },
  }).catch((error: { code: number; stderr: string }) => error)
  expect(said).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Done, but the result could not be printed: ENOSPC.*\n$/),
  })
})
