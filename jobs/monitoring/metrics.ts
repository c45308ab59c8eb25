import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Connection } from '../../db/client.ts'
import { droppedLines } from '../../db/log.ts'
import { version } from '../../db/program-version.ts'
import { watchLedger } from './ledger-metrics.ts'

/** What the metrics of a process need: its pool, the pool's size (`connections`), and its log. */
export type Measured = Pick<Connection, 'db' | 'underWay'> & { connections: number; log: Logger }

/** The metrics that each of our processes reports: Node's own metrics, the pool, the log and the ledger. */
export function processMetrics({ db, underWay, connections, log }: Measured): Registry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    ...{
      name: 'punctual_build_info',
      help: 'Always 1; the labels are the running versions',
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
    help: 'Running statements and transactions of the pool; above the pool size, some wait for a connection',
    registers,
    collect() {
      this.set(underWay())
    },
  })
  new Counter({
    ...{ name: 'punctual_log_lines_dropped_total', help: 'Log lines that could not be written', registers },
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
 * The events that a worker counts. The labels are networks and outcomes, never an organisation, a channel or a post.
 *
 * Every counter starts at 0: a rate or an increase in Prometheus needs a value before the first event.
 */
export function workerMetrics(measured: Measured, networks: string[]) {
  const registry = processMetrics(measured)
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const lateness = new Histogram({
    name: 'punctual_lateness_seconds',
    help: 'Time from the due time of a delivery to its publication',
    labelNames: ['network'],
    buckets: LatenessSeconds,
    registers: [registry],
  })
  const attempts = counter('punctual_attempts_total', 'Attempts that ended', 'network', 'outcome')
  const leasesLost = counter(
    'punctual_leases_lost_total',
    'Attempts that we stopped before sending: the delivery was edited, paused or taken over meanwhile',
  )
  const takenOver = counter('punctual_taken_over_total', 'Deliveries taken over from dead workers')
  const refreshes = counter('punctual_refreshes_total', 'Refreshes of credentials, good or failed', 'network', 'result')
  const rateLimited = counter('punctual_rate_limited_total', 'Responses of a network that asked us to wait', 'network')
  const webhookCalls = counter('punctual_webhook_calls_total', 'Webhook calls that ended', 'outcome')
  const mailTries = counter('punctual_mail_tries_total', 'Tries to send a mail that ended', 'outcome')
  for (const outcome of ['sent', 'refused', 'later', 'no_recipient']) mailTries.inc({ outcome }, 0)
  for (const outcome of ['delivered', 'refused', 'unreachable']) webhookCalls.inc({ outcome }, 0)
  for (const network of networks) {
    lateness.zero({ network })
    rateLimited.inc({ network }, 0)
    for (const outcome of Outcomes) attempts.inc({ network, outcome }, 0)
    for (const result of ['good', 'failed']) refreshes.inc({ network, result }, 0)
  }
  return {
    registry,
    /** A delivery was published, `latenessMs` after its due time. */
    published: (network: string, latenessMs: number) => lateness.observe({ network }, latenessMs / 1000),
    /** An attempt ended. `outcome` is the value in the attempt's row. */
    attemptEnded: (network: string, outcome: string) => attempts.inc({ network, outcome }),
    /** We may no longer send a delivery: a person changed it, or another worker has it. */
    leaseLost: () => leasesLost.inc(),
    /** We took over `deliveries` deliveries from dead workers. */
    takenOver: (deliveries: number) => takenOver.inc(deliveries),
    /** The refresh of a credential succeeded or failed. */
    refreshed: (network: string, isGood: boolean) => refreshes.inc({ network, result: isGood ? 'good' : 'failed' }),
    /** A network answered that we ask too often. */
    limited: (network: string) => rateLimited.inc({ network }),
    /** A webhook call ended. `unreachable`: there was no answer. */
    webhookCalled: (outcome: 'delivered' | 'refused' | 'unreachable') => webhookCalls.inc({ outcome }),
    /** A try to send a mail ended. `later`: it is tried again. */
    mailEnded: (outcome: 'sent' | 'refused' | 'later' | 'no_recipient') => mailTries.inc({ outcome }),
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
