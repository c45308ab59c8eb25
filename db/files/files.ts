import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** Stores the bytes of media. The caller makes each file's key from letters, digits, dash and dot. */
export type Files = {
  /** Store `source` under `key` and replace what was there. All or nothing, also after a power cut. */
  write: (key: string, source: Readable | Uint8Array) => Promise<void>
  /** Store the temporary file at `path` under `key`, like `write`. The file at `path` may be gone afterwards. */
  adopt: (key: string, path: string) => Promise<void>
  /** Throws FileNotFound. */
  bytesOf: (key: string) => Promise<number>
  /**
   * The file, or the bytes of `range`, which must be in it. `signal` ends the wait for the first byte. Throws
   * FileNotFound. Destroy the stream if you don't read it to its end.
   */
  read: (key: string, range?: Range, signal?: AbortSignal) => Promise<Readable>
  /** Throws FileNotFound. */
  readAll: (key: string) => Promise<Uint8Array>
  /** Does nothing if the file does not exist. */
  remove: (key: string) => Promise<void>
  /** The keys that begin with `prefix` (at least two characters) of files written before `time`, in batches. */
  list: (prefix: string, time: Date) => AsyncIterable<string[]>
  /** Remove the temporary files of this machine that were last written before `time`. */
  clear: (time: Date) => Promise<void>
  /** The path of a new file on this machine that does not exist yet. The caller removes the file. */
  temporary: () => Promise<string>
}

/** Both ends are inclusive and count from 0. */
export type Range = { start: number; end: number }

export class FileNotFound extends Error {}

/** We can't use the file storage now. It is never a database error, even if the code of its `cause` looks like one. */
export class FileStorageError extends Error {}

/** Whether `error` is a FileStorageError or has one as a cause. An upload to a network can, because it reads a file. */
export function isFileStorageAway(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof FileStorageError) return true
  return false
}

/** Throws unless `key` is valid. */
export function requireKey(key: string): void {
  if (!/^[0-9A-Za-z]{2}[0-9A-Za-z.-]{1,126}$/.test(key))
    throw new Error('A file key holds letters, digits, dash and dot.')
}

/** The temporary files in `folder` on this machine. */
export function temporaryIn(folder: string) {
  return {
    path: async (): Promise<string> => {
      await mkdir(folder, { recursive: true })
      return join(folder, randomUUID())
    },
    /** Remove the files that were last written before `time`. */
    clear: async (time: Date): Promise<void> => {
      for (const name of await namesIn(folder)) {
        const path = join(folder, name)
        if (await isFrom(path, time)) await rm(path, { force: true })
      }
    },
  }
}

/** The names in a folder. Empty if the folder does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error) => (error.code === 'ENOENT' ? [] : Promise.reject(error)))
}

/** Whether the file at `path` was last written before `time`. False if there is no file. */
export async function isFrom(path: string, time: Date): Promise<boolean> {
  const found = await stat(path).catch((error) => (error.code === 'ENOENT' ? null : Promise.reject(error)))
  return found !== null && found.mtime < time
}
