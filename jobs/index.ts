import { connect, type Db } from '../db/client.ts'
import { InstallationError, joinInstallation } from '../db/embedded.ts'
import { type Env, EnvError, readEnv } from '../db/env.ts'
import { createLog } from '../db/log.ts'
import { isMigrated } from '../db/migrate.ts'
import { openFiles } from '../db/storage.ts'
import { serveHealth } from './health.ts'
import { workerMetrics } from './metrics.ts'
import { networks as allNetworks, type Networks } from './networks/registry.ts'
import { createOutbound } from './outbound.ts'
import { times as realTimes, type Times } from './times.ts'
import { startWorker } from './worker.ts'

type Way = { env: Env; networks?: (installed: { db: Db; appUrl: string; plcUrl: string }) => Networks; times?: Times }

/**
 * The worker process: connect, run, and on SIGTERM or SIGINT let what is being sent end, release the rest and exit 0.
 *
 * Exits 1 when the worker ends unasked: whoever started it starts another. `networks` and `times` are for tests.
 */
export async function run({ env, networks = allNetworks, times = realTimes }: Way): Promise<void> {
  const log = createLog('worker', env.logLevel)
  const { databaseUrl, secretKeys } = await joinInstallation(env)
  const connections = env.databaseConnections
  const { db, underWay, end } = connect(databaseUrl, { connections, name: 'worker' })
  if (!(await isMigrated(db)))
    throw new InstallationError('The database is older than this version: run `npm run migrate`.')
  const outbound = createOutbound({ allow: env.outboundAllow })
  const metrics = workerMetrics({ db, underWay, connections, log })
  const worker = await startWorker({
    ...{
      db,
      databaseUrl,
      times,
      outbound,
      metrics,
      log,
      ring: secretKeys,
      appUrl: env.appUrl,
      concurrency: env.workerConcurrency,
    },
    networks: networks({ db, appUrl: env.appUrl, plcUrl: env.blueskyPlcUrl }),
    files: await openFiles(env),
  })
  const health = await serveHealth(env.workerPort, worker.health, metrics.registry)
  log.info({ owner: worker.owner, health: health.address() }, 'worker runs')
  const reason = await Promise.race([worker.ended, signalled()])
  log.info({ reason }, 'worker stops')
  await worker.stop().catch((error: unknown) => log.error({ err: error }, 'the stop was not clean'))
  await Promise.all([outbound.close(), end()])
  process.exit(reason === 'asked' ? 0 : 1)
}

function signalled(): Promise<'asked'> {
  return new Promise((done) => {
    process.once('SIGTERM', () => done('asked'))
    process.once('SIGINT', () => done('asked'))
  })
}

/** Say why the process cannot start, in a sentence where it is the operator's to mend, and exit. */
export function failStart(error: unknown): never {
  const isTheirs = error instanceof EnvError || error instanceof InstallationError
  process.stderr.write(`${isTheirs ? error.message : error instanceof Error ? error.stack : error}\n`)
  process.exit(1)
}

if (import.meta.main) run({ env: readEnv() }).catch(failStart)
