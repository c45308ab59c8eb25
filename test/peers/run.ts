// `npm run peers`: everything that is proved against real servers, one file after another.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const files = globSync('*.test.ts', { cwd: import.meta.dirname }).map((file) => join(import.meta.dirname, file))
const skipped: string[] = []

run({ files, concurrency: 1, forceExit: true })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .on('test:pass', ({ name, skip }) => {
    if (skip) skipped.push(`SKIPPED ${name} (${skip})\n`)
  })
  .compose(new spec())
  .on('end', () => process.stdout.write(skipped.join('')))
  .pipe(process.stdout)
