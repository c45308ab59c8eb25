import { sql } from 'drizzle-orm'
import { open, type Place, seal } from '../../db/sealed.ts'
import type { Deps } from '../deps.ts'
import { type Credential, type Network, PublishError, type Session } from '../networks/network.ts'

/** A channel with its credential still sealed, as it was when the delivery was claimed. */
export type SealedChannel = {
  organisationId: string
  channelId: string
  network: string
  remoteAccount: string
  credential: Uint8Array
  credentialVersion: number
}

/** Count a post that was recorded `lateMs` after its due time. */
export function notePublished({ tally, metrics }: Deps, network: string, lateMs: number): void {
  tally.published(lateMs)
  metrics.published(network, lateMs)
}

/** The session that a channel's network gets. The credential is opened only for this use. */
export function openSession(deps: Deps, channel: SealedChannel, signal: AbortSignal): Session {
  const { organisationId, channelId, remoteAccount } = channel
  const credential = JSON.parse(open(deps.ring, credentialPlace(channel), channel.credential)) as Credential
  return { organisationId, channelId, remoteAccount, credential, outbound: deps.outbound, signal }
}

/** Where a channel's credential is sealed. */
export function credentialPlace({ channelId, organisationId }: { channelId: string; organisationId: string }): Place {
  return { table: 'channels', id: channelId, organisationId, field: 'credential' }
}

/**
 * Replace a refused credential with a new one, and return the channel with it. Only one process in the installation
 * refreshes a channel at a time. If another one has refreshed it meanwhile, we return its credential.
 *
 * Null if the network has no refresh: a person must reconnect the channel. Throws PublishError `reconnect` if the
 * refresh is refused. Any other error may pass.
 */
export async function refreshed<C extends SealedChannel>(deps: Deps, network: Network, refused: C): Promise<C | null> {
  if (!network.refresh) return null
  const { refresh } = network
  return deps.refreshing.transaction(async (tx) => {
    // We do not lock the row: claims and settlements of the channel must not wait for the network.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`refresh ${refused.channelId}`}, 0))`)
    const [current] = await tx.execute<{ credential: Uint8Array | null; version: number }>(sql`
      select credential, credential_version as version from channels
      where id = ${refused.channelId} and organisation_id = ${refused.organisationId}`)
    if (!current?.credential) throw new PublishError('reconnect', 'The channel was disconnected.')
    if (current.version !== refused.credentialVersion)
      return { ...refused, credential: current.credential, credentialVersion: current.version }
    const session = openSession(deps, refused, AbortSignal.timeout(deps.times.sendMs))
    const fresh = await refresh(session.credential, session).catch((error: unknown) => {
      deps.metrics.refreshed(refused.network, false)
      throw error
    })
    deps.at('refreshed')
    const credential = seal(deps.ring, credentialPlace(refused), JSON.stringify(fresh))
    const credentialVersion = current.version + 1
    await tx.execute(sql`
      update channels set credential = ${credential}, credential_version = ${credentialVersion}
      where id = ${refused.channelId} and organisation_id = ${refused.organisationId}`)
    deps.metrics.refreshed(refused.network, true)
    deps.log.info({ organisation: refused.organisationId, channel: refused.channelId }, 'credential refreshed')
    return { ...refused, credential, credentialVersion }
  })
}
