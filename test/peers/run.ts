// `npm run peers`: everything that is proved against real servers, one file after another.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const files = globSync('*.test.ts', { cwd: import.meta.dirname }).map((file) => join(import.meta.dirname, file))

run({ files, concurrency: 1 })
  .on('test:fail', () => {
    process.exitCode = 1
  })
  .compose(new spec())
  .pipe(process.stdout)
