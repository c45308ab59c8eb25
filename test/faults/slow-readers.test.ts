import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../processes.ts'
import { openWeb, type Web } from '../server/web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb()
})
afterAll(() => w.end())

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((name) => linkOf(`${folder}/${name}`).startsWith('socket:')).length
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed meanwhile
  }
}

/** Somebody who asks for more than the buffers of the system hold, and reads nothing yet. */
async function aCaller() {
  const { hostname, port } = new URL(w.site.appUrl)
  const caller = connect({ host: hostname, port: Number(port) })
  const state = { isClosed: false }
  caller.on('error', () => {}).on('close', () => (state.isClosed = true))
  await once(caller, 'connect')
  caller.write(`GET /docs/errors HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`.repeat(1000))
  return { caller, state }
}

test('callers who read nothing of a long answer are cut off after two minutes, and not one who reads slowly', async () => {
  const before = socketsOf(w.web.pid)
  const silent = await Promise.all(Array.from({ length: 5 }, aCaller))
  const slow = await aCaller()
  await until(() => socketsOf(w.web.pid) >= before + 6)
  expect((await fetch(`${w.site.appUrl}/login`)).ok).toBe(true)
  let bytes = 0
  const reading = setInterval(() => {
    bytes += slow.caller.read(65_536)?.length ?? 0
  }, 500)

  await until(() => socketsOf(w.web.pid) < before + 4, 200_000)

  clearInterval(reading)
  expect([slow.state.isClosed, bytes > 4_000_000]).toEqual([false, true])
  for (const { caller } of [...silent, slow]) caller.destroy()
}, 240_000)
