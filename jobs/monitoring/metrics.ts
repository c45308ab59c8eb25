import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Connection } from '../../db/client.ts'
import { droppedLines } from '../../db/log.ts'
import { version } from '../../db/program-version.ts'
import { watchLedger } from './ledger-metrics.ts'

/** What a process is, for its metrics: its pool, of `connections`, and its log. */
export type Measured = Pick<Connection, 'db' | 'underWay'> & { connections: number; log: Logger }

/** What every process of ours says of itself and of the installation: Node's own metrics, the pool, the log, the ledger. */
export function processMetrics({ db, underWay, connections, log }: Measured): Registry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    ...{
      name: 'punctual_build_info',
      help: '1, with the version that runs',
      labelNames: ['version', 'node'],
      registers,
    },
  }).set({ version, node: process.version }, 1)
  new Gauge({
    ...{ name: 'punctual_database_pool_size', help: 'Connections that the pool may open', registers },
    collect() {
      this.set(connections)
    },
  })
  new Gauge({
    name: 'punctual_database_pool_under_way',
    help: 'Statements and transactions under way on the pool; above its size, some wait for a connection',
    registers,
    collect() {
      this.set(underWay())
    },
  })
  new Counter({
    ...{ name: 'punctual_log_lines_dropped_total', help: 'Lines of the log that could not be written', registers },
    collect() {
      this.reset()
      this.inc(droppedLines())
    },
  })
  watchLedger(registry, db, log)
  return registry
}

export type WorkerMetrics = ReturnType<typeof workerMetrics>

const Outcomes = ['published', 'later', 'refused', 'reconnect', 'unknown', 'internal', 'lost']
const LatenessSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]

/**
 * What a worker counts as it happens. Its labels are networks and outcomes, never an organisation, a channel or a post.
 *
 * Whatever may be counted is there from the start, at 0: a rate or an increase in Prometheus needs a value before the first.
 */
export function workerMetrics(measured: Measured, networks: string[]) {
  const registry = processMetrics(measured)
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const lateness = new Histogram({
    name: 'punctual_lateness_seconds',
    help: 'From the instant at which a delivery was due to its publication',
    labelNames: ['network'],
    buckets: LatenessSeconds,
    registers: [registry],
  })
  const attempts = counter('punctual_attempts_total', 'Attempts that ended', 'network', 'outcome')
  const leasesLost = counter(
    'punctual_leases_lost_total',
    'Attempts that were to be sent and might no longer: edited or paused meanwhile, or taken over',
  )
  const takenOver = counter('punctual_taken_over_total', 'Deliveries taken from workers that were found dead')
  const refreshes = counter('punctual_refreshes_total', 'Credentials refreshed, or not', 'network', 'result')
  const rateLimited = counter('punctual_rate_limited_total', 'Answers of a network that asked to wait', 'network')
  const webhookCalls = counter('punctual_webhook_calls_total', 'Calls of webhooks that ended', 'outcome')
  for (const outcome of ['delivered', 'refused', 'unreachable']) webhookCalls.inc({ outcome }, 0)
  for (const network of networks) {
    lateness.zero({ network })
    rateLimited.inc({ network }, 0)
    for (const outcome of Outcomes) attempts.inc({ network, outcome }, 0)
    for (const result of ['good', 'failed']) refreshes.inc({ network, result }, 0)
  }
  return {
    registry,
    /** It is out: `latenessMs` after it was due. */
    published: (network: string, latenessMs: number) => lateness.observe({ network }, latenessMs / 1000),
    /** `outcome` as the attempt's row has it. */
    attemptEnded: (network: string, outcome: string) => attempts.inc({ network, outcome }),
    /** What was to be sent might not be any more: a person was faster, or another worker has it. */
    leaseLost: () => leasesLost.inc(),
    /** So many deliveries were taken from dead workers. */
    takenOver: (deliveries: number) => takenOver.inc(deliveries),
    /** A credential was refreshed, or could not be. */
    refreshed: (network: string, isGood: boolean) => refreshes.inc({ network, result: isGood ? 'good' : 'failed' }),
    /** A network answered that it is asked too often. */
    limited: (network: string) => rateLimited.inc({ network }),
    /** A call of a webhook ended; `unreachable`: without an answer. */
    webhookCalled: (outcome: 'delivered' | 'refused' | 'unreachable') => webhookCalls.inc({ outcome }),
  }
}

/** Answer with the metrics in Prometheus' text format, or 500 with the reason. */
export async function sendMetrics(registry: Registry, res: ServerResponse): Promise<void> {
  const headers = { 'content-type': registry.contentType, 'cache-control': 'no-store' }
  await registry.metrics().then(
    (text) => res.writeHead(200, headers).end(text),
    (error: Error) => res.writeHead(500, { 'content-type': 'text/plain' }).end(`${error.message}\n`),
  )
}
