import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'

type Bounds = { flags: string[]; timeoutMs: number; answerBytes: number }

/**
 * Read somebody's file in a process of its own: `program` of this folder, with the parser from `packageDir`. It answers on
 * its standard output.
 *
 * We trust neither the file nor its parser. The process has none of our secrets. It may read this one file and its own
 * code, write nothing, start nothing, and has little memory and time. Throws what execFile does.
 */
export async function readApart(program: string, path: string, packageDir: string, bounds: Bounds): Promise<Buffer> {
  const own = join(import.meta.dirname, `${program}${extname(import.meta.filename)}`) // from source and from build/ alike
  const file = await realpath(path)
  const readable = [file, own, join(dirname(own), '../../package.json'), `${await realpath(packageDir)}/*`]
  const permissions = ['--permission', ...readable.map((one) => `--allow-fs-read=${one}`)]
  const { stdout } = await promisify(execFile)(process.execPath, [...bounds.flags, ...permissions, own, file], {
    env: { NODE_ENV: 'production' },
    timeout: bounds.timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: bounds.answerBytes,
    encoding: 'buffer',
  })
  return stdout
}

/** The folder of a package: `levels` above the file that its name resolves to. */
export function packageDir(name: string, levels: number): string {
  return join(dirname(createRequire(import.meta.url).resolve(name)), ...Array(levels).fill('..'))
}

/** Whether the process refused the file, ran out of time or out of memory. Any other error, such as too many open files, is ours. */
export function isOfTheFile({ code, killed, signal }: { code?: unknown; killed?: boolean; signal?: string | null }) {
  return code === 1 || killed === true || signal === 'SIGABRT'
}
