import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bundle } from '../../server/run/bundle.ts'

// The web process and the worker of tests, as one file each: from source both take half a second of processor more to start,
// and tests start some hundred of them.

const Root = join(import.meta.dirname, '../..')

/** Where they are, as deep in the repository as build/ is: what they read beside them is found from there as well. */
export const Bundles = '.test-build'

const Web = {
  web: 'server/index.ts',
  'probe-process': 'server/media/probe-process.ts',
  'heic-process': 'server/media/heic-process.ts',
}
const Worker = { worker: 'test/worker.ts' }
const Beside = ['../db/migrations', '../docs', '../server/run/end-with-parent.js']

/** Bundle them from the source as it is. Files that are there and right stay as they are: another run may read them. */
export async function bundlePrograms(): Promise<void> {
  await mkdir(join(Root, Bundles), { recursive: true })
  for (const target of Beside)
    await symlink(target, join(Root, Bundles, basename(target))).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  const bundles = await Promise.all([
    bundle(Web, Bundles, { write: false }),
    bundle(Worker, Bundles, { write: false, define: { 'import.meta.main': 'false' } }), // jobs/index.ts is a part of it
  ])
  for (const { path, contents } of bundles.flatMap(({ outputFiles = [] }) => outputFiles)) {
    const old = await readFile(path).catch(() => null)
    if (old?.equals(contents)) continue
    await writeFile(`${path}.${process.pid}`, contents)
    await rename(`${path}.${process.pid}`, path)
  }
}
