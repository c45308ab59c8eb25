import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { variablesWith } from '../../db/env.ts'
import { bundle } from './bundle.ts'
import { compressFiles } from './compress-files.ts'

const Root = join(import.meta.dirname, '../..')
// Their processes may read no file but their own.
const Sandboxed = {
  'probe-process': 'server/media/probe-process.ts',
  'heic-process': 'server/media/heic-process.ts',
}
const Programs = {
  start: 'server/run/start.ts',
  web: 'server/index.ts',
  worker: 'jobs/index.ts',
  admin: 'server/run/admin.ts',
}

/**
 * Build what production runs: the pages in build/remix and public/build, one bundle for each process in build/, and beside them
 * the migrations and the guides that the documentation shows. `--missing` does nothing if a build exists.
 */
if (!(process.argv.includes('--missing') && isBuilt())) await build()

function isBuilt(): boolean {
  return existsSync(join(Root, 'build/web.js')) // written last
}

async function build(): Promise<void> {
  await rm(join(Root, 'build'), { recursive: true, force: true })
  await buildPages()
  await compressFiles(join(Root, 'public/build'))
  await cp(join(Root, 'db/migrations'), join(Root, 'build/migrations'), { recursive: true })
  for (const guide of ['docs/api', 'docs/oauth.md'])
    await cp(join(Root, guide), join(Root, 'build', guide), { recursive: true })
  for (const script of ['demand-node-24.js', 'end-with-parent.js'])
    await cp(join(Root, 'server/run', script), join(Root, 'build', script))
  for (const [name, source] of Object.entries(Sandboxed)) await bundle({ [name]: source }, 'build')
  // Before the packages, some of which an older Node cannot load.
  await bundle(Programs, 'build', { banner: { js: "import './demand-node-24.js'" } })
}

async function buildPages(): Promise<void> {
  const compiler = createRequire(import.meta.url).resolve('@remix-run/dev/dist/cli.js')
  await promisify(execFile)(process.execPath, [compiler, 'build'], {
    cwd: Root,
    env: variablesWith({ NODE_ENV: 'production' }),
  }).catch(({ stdout, stderr }) => {
    throw new Error(`The pages do not build.\n${stdout}${stderr}`)
  })
}
