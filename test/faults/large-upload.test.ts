import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listen } from '../jobs/outbound/loopback.ts'
import { until } from '../processes.ts'
import { openWeb, type Web } from '../server/web.ts'
import { type S3, startS3 } from '../stand-ins/s3.ts'
import { aVideo, free } from '../video.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB
const GrowthAtMost = 64 * MiB

let head: Buffer
beforeAll(async () => {
  head = await aVideo('mp4')
})

/** A video of `bytes` bytes, generated while it is read; each is different. */
function* aLargeVideo(bytes: number, name: string): Generator<Buffer> {
  yield head
  const mark = [...free(8 + name.length)][0]!
  yield Buffer.concat([mark, Buffer.from(name)])
  yield* free(bytes - head.length - mark.length - name.length)
}

/** The peak memory of a process while `during` runs, minus its memory before. */
async function growthOf<T>(
  pid: number,
  during: () => Promise<T>,
): Promise<{ before: number; growth: number; result: T }> {
  const residentBytes = async () =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
  const before = await residentBytes()
  let most = before
  const watch = setInterval(async () => {
    most = Math.max(most, await residentBytes())
  }, 50)
  const result = await during().finally(() => clearInterval(watch))
  return { before, growth: most - before, result }
}

vi.setConfig({ testTimeout: 600_000 }) // a busy disk needs time for a gigabyte

describe.runIf(process.platform === 'linux').each(['a local folder', 'an S3 bucket'])('into %s', (place) => {
  let w: Web
  let s3: S3
  const whole = place === 'a local folder' ? GiB : GiB / 4 // the stand-in for S3 is slow
  beforeAll(async () => {
    s3 = await startS3()
    w = await openWeb(place === 'an S3 bucket' ? s3.variables : {})
    for (const take of [sendForm, fetchFrom]) await take(`the first ${take.name}`, 24 * MiB) // loads code and buffers
  })
  afterAll(async () => {
    await w.end()
    await s3.end()
  })

  const stored = async () =>
    (await readdir(join(w.site.dataDir, 'files'), { recursive: true, withFileTypes: true })).filter((one) =>
      one.isFile(),
    ).length

  async function sendForm(name: string, bytes: number) {
    const headers = { authorization: w.key, 'content-type': 'multipart/form-data; boundary=x' }
    const sending = request(`${w.site.appUrl}/public/v1/media`, { method: 'POST', headers })
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>
    const body = function* () {
      yield Buffer.from('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
      yield* aLargeVideo(bytes, name)
      yield Buffer.from('\r\n--x--\r\n')
    }
    await pipeline(Readable.from(body()), sending).catch(() => {}) // refused before the end: the answer says why
    const [answer] = await answered
    return { status: answer.statusCode, json: JSON.parse(await text(answer).catch(() => '{}')) }
  }

  async function fetchFrom(name: string, bytes: number) {
    const { origin, stop } = await listen(
      createServer((_req, res) => void pipeline(Readable.from(aLargeVideo(bytes, name)), res).catch(() => {})),
    )
    return w.call('POST', '/media/upload-from-url', { json: { url: `${origin}/a.mp4` } }).finally(stop)
  }

  test.each([
    ['sent as a form', sendForm],
    ['fetched from a URL', fetchFrom],
  ])(`a video of ${whole / MiB} MiB, %s, grows the process by less than 64 MB`, async (way, take) => {
    const { before, growth, result } = await growthOf(w.web.pid, () => take(way, whole))
    expect(result).toMatchObject({ status: 201, json: { kind: 'video', bytes: whole, durationMs: 2000 } })
    // biome-ignore lint/suspicious/noConsole: the run prints what it measured
    console.log(
      `${whole / MiB} MiB ${way} into ${place}: the web process grew by ${Math.round(growth / MiB)} MiB from ${Math.round(before / MiB)}`,
    )
    expect(growth).toBeLessThan(GrowthAtMost)
    const reading = await growthOf(w.web.pid, async () => {
      const hash = createHash('sha256')
      const { body } = await fetch(result.json.url)
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) hash.update(chunk)
      return hash.digest('hex')
    })
    expect(reading.result).toBe(result.json.sha256)
    expect(reading.growth).toBeLessThan(GrowthAtMost)
    expect((await w.call('DELETE', `/media/${result.json.id}`)).status).toBe(204)
  })

  // The upload is cut while it is written to this machine's temporary folder, even if files are kept in a bucket.
  const cut = place === 'a local folder' ? test : null
  cut?.each([
    ['sent as a form', sendForm, 413],
    ['fetched from a URL', fetchFrom, 422],
  ])('an upload larger than 1 GB, %s, is cut there and leaves nothing', async (way, take, status) => {
    const before = await stored()
    const { growth, result } = await growthOf(w.web.pid, () => take(`${way}, endless`, 3 * GiB))
    expect(result.status).toBe(status)
    expect(growth).toBeLessThan(2 * GrowthAtMost) // sent at full speed, also for two seconds after the refusal
    await until(async () => (await stored()) === before)
  })
})
