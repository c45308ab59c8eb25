import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** Where the bytes of media are kept, each file under a key that its owner made: letters, digits, dash and dot. */
export type Files = {
  /** Keep `source` under `key`, over what was there. The whole of it or nothing, also after a power cut. */
  write: (key: string, source: Readable | Uint8Array) => Promise<void>
  /** Keep the temporary file at `path` under `key`, as `write` does. It may be gone from `path` afterwards. */
  adopt: (key: string, path: string) => Promise<void>
  /** Throws FileNotFound. */
  bytesOf: (key: string) => Promise<number>
  /**
   * The file, or the bytes of `range`, which must be in it; `signal` ends the waiting for its first byte. Throws
   * FileNotFound. Destroy it when it is not read to its end.
   */
  read: (key: string, range?: Range, signal?: AbortSignal) => Promise<Readable>
  /** Throws FileNotFound. */
  readAll: (key: string) => Promise<Uint8Array>
  /** One that is not there is fine. */
  remove: (key: string) => Promise<void>
  /** The keys of the files that begin with `prefix` (at least two characters) and were written before `time`, a few at once. */
  list: (prefix: string, time: Date) => AsyncIterable<string[]>
  /** Remove the temporary files of this machine that were last written before `time`. */
  clear: (time: Date) => Promise<void>
  /** The path of a new file on this machine that does not exist yet. The caller removes the file. */
  temporary: () => Promise<string>
}

/** Both ends are in it, counted from 0. */
export type Range = { start: number; end: number }

export class FileNotFound extends Error {}

/** The file storage cannot be used, and later may be better: never the database's error, whatever the code of its `cause`. */
export class FileStorageError extends Error {}

/** Whether `error` is a FileStorageError, or has it as a cause: an upload to a network does, that reads a file meanwhile. */
export function isFileStorageAway(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof FileStorageError) return true
  return false
}

/** Throws unless `key` is one that may be. */
export function requireKey(key: string): void {
  if (!/^[0-9A-Za-z]{2}[0-9A-Za-z.-]{1,126}$/.test(key))
    throw new Error('A file key holds letters, digits, dash and dot.')
}

/** The files of `folder` on this machine that come and go. */
export function temporaryIn(folder: string) {
  return {
    path: async (): Promise<string> => {
      await mkdir(folder, { recursive: true })
      return join(folder, randomUUID())
    },
    /** Remove those that were last written before `time`. */
    clear: async (time: Date): Promise<void> => {
      for (const name of await namesIn(folder)) {
        const path = join(folder, name)
        if (await isFrom(path, time)) await rm(path, { force: true })
      }
    },
  }
}

/** The names in a folder; none when the folder does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error) => (error.code === 'ENOENT' ? [] : Promise.reject(error)))
}

/** Whether the file at `path` was last written before `time`. One that is not there was not. */
export async function isFrom(path: string, time: Date): Promise<boolean> {
  const found = await stat(path).catch((error) => (error.code === 'ENOENT' ? null : Promise.reject(error)))
  return found !== null && found.mtime < time
}
