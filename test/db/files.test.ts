import { createHash, randomBytes } from 'node:crypto'
import { access, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FileNotFound, type Files } from '../../db/files/files.ts'
import { localFiles } from '../../db/files/local.ts'
import { s3Files } from '../../db/files/s3.ts'
import { type S3, startS3 } from '../stand-ins/s3.ts'

let dataDir: string
let s3: S3
let files: Files

beforeAll(async () => {
  s3 = await startS3()
})
afterAll(() => s3.end())
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'files '))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const MiB = 1024 * 1024
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const later = () => new Date(Date.now() + 60_000)

describe.each([
  ['in a local folder', async () => localFiles(dataDir)],
  ['in an S3 bucket', () => s3Files(dataDir, s3.bucket)],
])('%s', (_where, open) => {
  beforeEach(async () => {
    files = await open()
  })

  test('a written file is read back as a stream, as a whole and in part', async () => {
    const bytes = randomBytes(300_000)
    await files.write('abcd.jpg', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]))
    await files.write('efgh', Buffer.from('small'))

    expect(await files.bytesOf('abcd.jpg')).toBe(300_000)
    expect((await buffer(await files.read('abcd.jpg'))).equals(bytes)).toBe(true)
    const part = await buffer(await files.read('abcd.jpg', { start: 5, end: 100_004 }))
    expect(part.equals(bytes.subarray(5, 100_005))).toBe(true)
    expect(await text(await files.read('efgh', { start: 4, end: 4 }))).toBe('l')
    expect(Buffer.from(await files.readAll('efgh')).toString()).toBe('small')
  })

  test('a large file is unchanged after it is written and read', async () => {
    const bytes = randomBytes(20 * MiB)
    const path = await files.temporary()
    await writeFile(path, bytes)
    await files.adopt('large', path)
    await files.write('streamed', Readable.from([bytes.subarray(0, 9 * MiB), bytes.subarray(9 * MiB)]))

    for (const key of ['large', 'streamed']) expect(digest(await files.readAll(key))).toBe(digest(bytes))
  })

  test('a write whose source breaks off changes nothing', async () => {
    await files.write('abcd', Buffer.from('old'))
    const broken = (megabytes: number) =>
      Readable.from(
        (async function* () {
          for (let i = 0; i < megabytes; i++) yield Buffer.alloc(MiB)
          throw new Error('broken off')
        })(),
      )

    await expect(files.write('abcd', broken(1))).rejects.toThrow('broken off')
    await expect(files.write('long', broken(20))).rejects.toThrow('broken off')

    expect(await text(await files.read('abcd'))).toBe('old')
    await expect(files.bytesOf('long')).rejects.toThrow(FileNotFound)
    expect(await readdir(join(dataDir, 'files/temporary')).catch(() => [])).toEqual([])
  })

  test('when several callers write one key at once, one of the files is there whole', async () => {
    const versions = ['a', 'b', 'c', 'd'].map((letter) => Buffer.alloc(200_000, letter))
    await Promise.all(versions.map((version) => files.write('abcd', version)))

    expect(versions.map(digest)).toContain(digest(await files.readAll('abcd')))
  })

  test('a missing file throws FileNotFound when read, and can be removed again without an error', async () => {
    await files.write('abcd', Buffer.from('x'))
    await files.remove('abcd')
    await files.remove('abcd')

    for (const ask of [files.bytesOf, files.read, files.readAll])
      await expect(ask('abcd')).rejects.toThrow(FileNotFound)
  })

  test.each(['', 'a', '..', '../x', '../../etc/passwd', 'ab/cd', 'ab\0cd', '.abc', 'a b', 'ab\\cd', 'a'.repeat(129)])(
    'the key %j is refused by every call',
    async (key) => {
      for (const ask of [
        () => files.bytesOf(key),
        () => files.read(key),
        () => files.readAll(key),
        () => files.remove(key),
        () => files.adopt(key, '/dev/null'),
        () => files.write(key, Buffer.alloc(1)),
      ])
        await expect(ask()).rejects.toThrow('A file key')
    },
  )

  test('files are listed by prefix and by the time they were written', async () => {
    for (const key of ['fa01.webp', 'fa02.mp4', 'fb03.jpg']) await files.write(key, Buffer.from('x'))
    const listed = async (prefix: string, time: Date) => {
      const found: string[] = []
      for await (const keys of files.list(prefix, time)) found.push(...keys)
      return found.sort()
    }

    expect(await listed('fa', later())).toEqual(['fa01.webp', 'fa02.mp4'])
    expect(await listed('fa', new Date(Date.now() - 60_000))).toEqual([])
    expect(await listed('fc', later())).toEqual([])
  })

  test('each temporary path is new and can be written to, and old ones are cleared', async () => {
    const [old, fresh] = [await files.temporary(), await files.temporary()]
    expect(old).not.toBe(fresh)
    for (const path of [old, fresh]) {
      await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
      await writeFile(path, 'x')
    }
    await utimes(old, new Date(0), new Date(0))

    await files.clear(new Date(1000))

    await expect(access(old)).rejects.toMatchObject({ code: 'ENOENT' })
    await access(fresh)
  })
})

test('only the owner of the process can read the files of a local folder', async () => {
  const local = localFiles(dataDir)
  const path = await local.temporary()
  await writeFile(path, 'private', { mode: 0o644 })
  await local.adopt('abcd', path)
  await local.write('abef', Buffer.from('private'))
  for (const name of ['abcd', 'abef']) expect((await stat(join(dataDir, 'files/ab', name))).mode & 0o077).toBe(0)
})

describe('what the S3 server in these tests (@20minutes/s3rver) can prove', () => {
  const say = (what: string) => process.stdout.write(`S3: ${what}\n`) // the test calls it when it passes

  test('signing: the server refuses a wrong secret and a wrong key', async () => {
    for (const wrong of [{ secretAccessKey: 'wrong' }, { accessKeyId: 'NOBODY' }]) {
      const stranger = await s3Files(dataDir, { ...s3.bucket, ...wrong })
      await expect(stranger.write('abcd', Buffer.from('x'))).rejects.toMatchObject({
        cause: { name: expect.stringMatching(/SignatureDoesNotMatch|InvalidAccessKeyId/) },
      })
      await expect(stranger.readAll('abcd')).rejects.toThrow()
    }
    say('signing (SigV4 in the header): proved for writing and reading, not looked at for lists')
  })

  test('multipart: a file over 5 MiB arrives in parts and is put together', async () => {
    const own = await s3Files(dataDir, s3.bucket)
    s3.seen.length = 0
    await own.write('parts', Readable.from([Buffer.alloc(20 * MiB, 'x')]))

    const parts = s3.seen.filter((line) => /^PUT \/punctual\/files\/parts\?.*partNumber=\d/.test(line))
    expect(parts).toHaveLength(4)
    expect(s3.seen.at(-1)).toMatch(/^POST .*uploadId=/)
    expect(await own.bytesOf('parts')).toBe(20 * MiB)
    say('multipart upload: proved')
  })

  test('multipart: an upload that breaks off is aborted', async () => {
    const own = await s3Files(dataDir, s3.bucket)
    s3.seen.length = 0
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(20 * MiB)
        throw new Error('broken off')
      })(),
    )
    await expect(own.write('broken', broken)).rejects.toThrow('broken off')
    expect(s3.seen.at(-1)).toMatch(/^DELETE \/punctual\/files\/broken\?.*uploadId=/)
    say('abort of a multipart upload: asked for; not looked at is what the server does then')
  })

  test('presigning: no request has its signature in the URL', async () => {
    const own = await s3Files(dataDir, s3.bucket)
    s3.seen.length = 0
    await own.write('plain', Buffer.from('x'))
    await own.readAll('plain')
    for await (const _keys of own.list('plain', later()));
    await own.remove('plain')

    expect(s3.seen.map((line) => line.split(' ')[0])).toEqual(['PUT', 'GET', 'GET', 'DELETE'])
    expect(s3.seen.filter((line) => /x-amz-(signature|credential)/i.test(line))).toEqual([])
    say('presigned addresses: not used, so not proved')
  })
})
