import { createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FileNotFound, type Files, isFrom, namesIn, type Range, requireKey, temporaryIn } from './files.ts'

type Temporary = ReturnType<typeof temporaryIn>

/** Files in `<dataDir>/files`, in folders named after the first two characters of the key. */
export function localFiles(dataDir: string): Files {
  const root = join(dataDir, 'files')
  const temporary = temporaryIn(join(root, 'temporary')) // on the same file system, so a rename is enough
  return {
    write: async (key, source) => write(temporary, pathOf(root, key), source),
    adopt: async (key, path) => adopt(path, pathOf(root, key)),
    bytesOf: async (key) => (await stat(pathOf(root, key)).catch((error) => notFound(key, error))).size,
    read: async (key, range) => read(key, pathOf(root, key), range),
    readAll: async (key) => readFile(pathOf(root, key)).catch((error) => notFound(key, error)),
    remove: async (key) => rm(pathOf(root, key), { force: true }),
    list: (prefix, time) => list(root, prefix, time),
    clear: temporary.clear,
    temporary: temporary.path,
  }
}

async function write(temporary: Temporary, path: string, source: Readable | Uint8Array): Promise<void> {
  const half = await temporary.path()
  try {
    const stream = source instanceof Readable ? source : Readable.from([source])
    await pipeline(stream, createWriteStream(half, { flags: 'wx', mode: 0o600, flush: true }))
    await move(half, path)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}

async function adopt(from: string, path: string): Promise<void> {
  const file = await open(from, 'r+')
  try {
    await file.chmod(0o600)
    await file.sync()
  } finally {
    await file.close()
  }
  await move(from, path)
}

// A rename survives a power cut only after its folder is synced to disk.
async function move(from: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await rename(from, path)
  const folder = await open(dirname(path))
  await folder.sync().finally(() => folder.close())
}

async function read(key: string, path: string, range: Range | undefined): Promise<Readable> {
  const file = await open(path).catch((error) => notFound(key, error))
  return file.createReadStream(range)
}

async function* list(root: string, prefix: string, time: Date): AsyncIterable<string[]> {
  const folder = join(root, prefix.slice(0, 2))
  const found: string[] = []
  for (const name of await namesIn(folder))
    if (name.startsWith(prefix) && (await isFrom(join(folder, name), time))) found.push(name)
  yield found
}

function pathOf(root: string, key: string): string {
  requireKey(key)
  return join(root, key.slice(0, 2), key)
}

function notFound(key: string, error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOENT' ? new FileNotFound(`File not found: ${key}.`, { cause: error }) : error
}
