import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FileNotFound, type Files, localFiles } from '../../db/files.ts'

let dataDir: string
let files: Files

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'files '))
  files = localFiles(dataDir)
})
afterEach(() => rm(dataDir, { recursive: true }))

test('what was written is read back, as a stream and whole', async () => {
  const bytes = randomBytes(300_000)
  await files.write('abcd.jpg', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]))
  await files.write('efgh', Buffer.from('small'))

  const read = await files.read('abcd.jpg')

  expect(read.bytes).toBe(300_000)
  expect((await buffer(read.stream)).equals(bytes)).toBe(true)
  expect(Buffer.from(await files.readAll('efgh')).toString()).toBe('small')
  expect(await readdir(join(dataDir, 'files/ab'))).toEqual(['abcd.jpg'])
})

test('no file is left when its source breaks off, and the one that was there stays', async () => {
  await files.write('abcd', Buffer.from('old'))
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('half')
      throw new Error('broken off')
    })(),
  )

  await expect(files.write('abcd', broken)).rejects.toThrow('broken off')

  expect(await text((await files.read('abcd')).stream)).toBe('old')
  expect(await readdir(join(dataDir, 'files/temporary'))).toEqual([])
})

test('of two that write one key at once, one is there whole', async () => {
  const versions = ['a', 'b', 'c', 'd'].map((letter) => Buffer.alloc(200_000, letter))
  await Promise.all(versions.map((version) => files.write('abcd', version)))

  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  expect(versions.map(digest)).toContain(digest(await files.readAll('abcd')))
})

test('what is not there is FileNotFound, and may be removed again', async () => {
  await files.write('abcd', Buffer.from('x'))
  await files.remove('abcd')
  await files.remove('abcd')

  await expect(files.read('abcd')).rejects.toThrow(FileNotFound)
  await expect(files.readAll('abcd')).rejects.toThrow(FileNotFound)
})

test.each(['', 'a', '..', '../x', '../../etc/passwd', 'ab/cd', 'ab\0cd', '.abc', 'a b', 'ab\\cd', 'a'.repeat(129)])(
  'the key %j is refused, whatever is asked',
  async (key) => {
    for (const ask of [
      () => files.read(key),
      () => files.readAll(key),
      () => files.remove(key),
      () => files.write(key, Buffer.alloc(1)),
    ])
      await expect(ask()).rejects.toThrow('A file key')
  },
)

test('only the owner of the process may read the files', async () => {
  await files.write('abcd', Buffer.from('private'))
  expect((await stat(join(dataDir, 'files/ab/abcd'))).mode & 0o077).toBe(0)
})

test('temporary files are new each time, and can be made', async () => {
  const [one, two] = [await files.temporary(), await files.temporary()]
  expect(one).not.toBe(two)
  await expect(stat(one)).rejects.toMatchObject({ code: 'ENOENT' })
  expect((await stat(join(one, '..'))).isDirectory()).toBe(true)
})
