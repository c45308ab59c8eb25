import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { freePort } from '../../db/embedded/postgres.ts'
import { variablesWith } from '../../db/env.ts'
import { type Child, keepRunning } from './supervise.ts'

const Build = join(import.meta.dirname, '../../build')

/**
 * Start Remix's compiler, which builds the pages again after each change and reloads the browsers.
 *
 * Returns after the first build, with the variables that the web process needs to report a new build.
 * Removes a production build first: the two would mix.
 */
export async function developPages(log: Logger): Promise<{ child: Child; variables: Record<string, string> }> {
  await rm(Build, { recursive: true, force: true })
  const port = await freePort(0)
  const compiler = createRequire(import.meta.url).resolve('@remix-run/dev/dist/cli.js')
  // Manual: the web process is started, watched and stopped by us. The compiler insists on a command, so it gets one.
  const args = [compiler, 'dev', '--manual', '--command', 'true', '--port', String(port)]
  const child = keepRunning('pages', args, variablesWith({ NODE_ENV: 'development' }), log)
  while (!existsSync(join(Build, 'remix/index.js'))) await sleep(100)
  return { child, variables: { REMIX_DEV_ORIGIN: `http://localhost:${port}` } }
}
