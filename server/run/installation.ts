import { type Connection, connect } from '../../db/client.ts'
import { joinInstallation } from '../../db/embedded/installation.ts'
import type { Env } from '../../db/env.ts'
import { openFiles } from '../../db/files/open.ts'
import { networks } from '../../jobs/networks/registry.ts'
import { createOutbound } from '../../jobs/outbound/outbound.ts'
import type { Installation } from '../access/trpc.ts'

/** `underWay`, `stuckForMs`: how busy the pool is (db/client.ts). */
export type Installed = { installation: Installation; databaseUrl: string } & Pick<
  Connection,
  'underWay' | 'stuckForMs' | 'end'
>

/** Connect to everything that a request may need. `name` is what `pg_stat_activity` shows of it. */
export async function install(env: Env, name: 'web' | 'admin' = 'web'): Promise<Installed> {
  const { databaseUrl, secretKeys } = await joinInstallation(env)
  const { db, underWay, stuckForMs, end } = connect(databaseUrl, { connections: env.databaseConnections, name })
  const outbound = createOutbound({ allow: env.outboundAllow })
  const installation = {
    db,
    env,
    ring: secretKeys,
    files: await openFiles(env),
    networks: networks({ db, appUrl: env.appUrl, plcUrl: env.blueskyPlcUrl }),
    outbound,
  }
  return {
    installation,
    databaseUrl,
    underWay,
    stuckForMs,
    end: async () => void (await Promise.all([outbound.close(), end()])),
  }
}
