import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { print } from './log.ts'

const manifest = join(import.meta.dirname, '../package.json') // from source and from build/ alike

/** The version of the code that runs (https://semver.org), as package.json has it. */
export const version: string = JSON.parse(readFileSync(manifest, 'utf8')).version

/** A program that was started with `--version` prints it and ends. */
export function answerVersion(): void {
  if (process.argv[2] !== '--version') return
  print(version)
  process.exit(0)
}
