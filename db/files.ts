import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Where the bytes of media are kept, each file under a key that its owner made: letters, digits, dash and dot. */
export type Files = {
  /** Keep `source` under `key`, over what was there. The whole of it or nothing, also after a power cut. */
  write: (key: string, source: Readable | Uint8Array) => Promise<void>
  /** Throws FileNotFound. Destroy `stream` when it is not read to its end. */
  read: (key: string) => Promise<{ stream: Readable; bytes: number }>
  /** Throws FileNotFound. */
  readAll: (key: string) => Promise<Uint8Array>
  /** One that is not there is fine. */
  remove: (key: string) => Promise<void>
  /** The path of a new file on this machine that does not exist yet. Whoever asks for it removes it. */
  temporary: () => Promise<string>
}

export class FileNotFound extends Error {}

/** Files in `<dataDir>/files`, in a folder for each first two characters of a key. */
export function localFiles(dataDir: string): Files {
  const root = join(dataDir, 'files')
  return {
    write: async (key, source) => write(root, pathOf(root, key), source),
    async read(key) {
      const file = await openedOf(root, key)
      return { stream: file.createReadStream(), bytes: (await file.stat()).size }
    },
    readAll: async (key) => readFile(pathOf(root, key)).catch((error) => notFound(key, error)),
    remove: async (key) => rm(pathOf(root, key), { force: true }),
    temporary: () => temporary(root),
  }
}

async function write(root: string, path: string, source: Readable | Uint8Array): Promise<void> {
  const half = await temporary(root)
  try {
    const stream = source instanceof Readable ? source : Readable.from([source])
    await pipeline(stream, createWriteStream(half, { flags: 'wx', mode: 0o600, flush: true }))
    await mkdir(dirname(path), { recursive: true })
    await rename(half, path)
    await flushFolder(dirname(path))
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}

// A rename is kept through a power cut only once its folder is on the disk.
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

async function temporary(root: string): Promise<string> {
  const folder = join(root, 'temporary') // on the same file system, so that a rename is enough
  await mkdir(folder, { recursive: true })
  return join(folder, randomUUID())
}

function openedOf(root: string, key: string): Promise<FileHandle> {
  return open(pathOf(root, key)).catch((error) => notFound(key, error))
}

function pathOf(root: string, key: string): string {
  if (!/^[0-9A-Za-z]{2}[0-9A-Za-z.-]{1,126}$/.test(key))
    throw new Error('A file key holds letters, digits, dash and dot.')
  return join(root, key.slice(0, 2), key)
}

function notFound(key: string, error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOENT' ? new FileNotFound(`There is no file ${key}.`, { cause: error }) : error
}
