import type { Logger } from 'pino'
import type { Db } from '../db/client.ts'
import type { MailSettings } from '../db/env.ts'
import type { Files } from '../db/files/files.ts'
import type { KeyRing } from '../db/sealed.ts'
import type { WorkerMetrics } from './monitoring/metrics.ts'
import type { Outage } from './monitoring/outage.ts'
import type { Tally } from './monitoring/tally.ts'
import type { Networks } from './networks/registry.ts'
import type { Outbound } from './outbound/outbound.ts'
import type { Times } from './timeouts-and-delays.ts'

/** What a worker has, the same for every task. */
export type Deps = {
  db: Db
  refreshing: Db // connections that may be held while a network is asked for a new credential
  owner: string // the id of this worker's pool, which leases carry
  times: Times
  networks: Networks
  outbound: Outbound
  ring: KeyRing
  files: Files
  appUrl: string
  mail: MailSettings | null // null: no mail is sent
  metrics: WorkerMetrics
  log: Logger
  outage: Outage // one for the process: the part that notices first logs it
  tally: Tally
  at: (point: Point) => void // called at each point where a process may crash; tests crash it there
}

/** Where a process that ends leaves something behind: the crash points of docs/faults.md. */
export type Point =
  | 'woken'
  | 'claimed'
  | 'prepared'
  | 'intended'
  | 'answered'
  | 'settled'
  | 'refreshed'
  | 'reaping'
  | 'looking'
  | 'mailed'
