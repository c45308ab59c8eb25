import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { print } from './log.ts'

/** The folder that everything is in, from source and from build/ alike. */
export const PackageFolder = join(import.meta.dirname, '..')

/** The version of the code that runs (https://semver.org), as package.json has it. */
export const version: string = JSON.parse(readFileSync(join(PackageFolder, 'package.json'), 'utf8')).version

/** A program that was started with `--version` prints it and ends. */
export function answerVersion(): void {
  if (process.argv[2] !== '--version') return
  print(version)
  process.exit(0)
}
