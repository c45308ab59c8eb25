import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { activity } from '../../db/schema/api.ts'
import { revocations } from '../../db/schema/channels.ts'
import { type KeyRing, open, SealError, seal } from '../../db/sealed.ts'
import type { Deps } from '../deps.ts'
import { ms } from '../ledger/ledger.ts'
import { ConnectError, type Credential, PublishError } from '../networks/network.ts'
import { credentialPlace } from '../publish/network-session.ts'

// Credentials that we no longer need are revoked at their network. We try a few times, and write the result to the
// organisation's audit log. Nothing waits for it.

const AtOnce = 10

type Owned = { organisationId: string; channelId: string }
type Named = Owned & { name: string }

/**
 * Revoke a credential of a channel at its network, `afterMs` from now. `sealed` is the value from the channel. False
 * if no key opens it.
 */
export async function endLater(
  tx: Tx,
  ring: KeyRing,
  { organisationId, channelId }: Owned,
  sealed: Uint8Array,
  afterMs: number,
): Promise<boolean> {
  const credential = opened(ring, { organisationId, channelId }, sealed)
  if (credential === null) return false
  const id = uuidv7()
  const own = seal(ring, placeOf({ id, organisationId }), JSON.stringify(credential))
  const nextTryAt = sql`now() + ${ms(afterMs)}`
  await tx.insert(revocations).values({ id, organisationId, channelId, sealed: own, nextTryAt })
  return true
}

/**
 * Delay the revocations of an organisation at `network` for as long as a connection to it may take. The server may give
 * the same token again (RFC 6749 §4.1.4 allows it), and we must not revoke a token that is in use.
 */
export async function leaveWhileConnecting(db: Db, { organisationId, network }: Connecting): Promise<void> {
  await db.execute(sql`
    update revocations r set next_try_at = greatest(r.next_try_at, now() + interval '5 minutes') from channels c
    where r.organisation_id = ${organisationId} and c.organisation_id = r.organisation_id and c.id = r.channel_id
      and c.network = ${network}`)
}

type Connecting = { organisationId: string; network: string }

/** The opened credential of a channel. Null if no key opens it. */
export function opened(ring: KeyRing, channel: Owned, sealed: Uint8Array): Credential | null {
  try {
    return JSON.parse(open(ring, credentialPlace(channel), sealed)) as Credential
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

/**
 * A disconnected channel keeps its credential only until we know the outcome of its last send. Then we revoke it at
 * the network.
 */
export async function eraseCredentials({ networks, ring }: Pick<Deps, 'networks' | 'ring'>, db: Db): Promise<void> {
  await db.transaction(async (tx) => {
    const rows = await tx.execute<Named & { network: string; credential: Uint8Array }>(sql`
      select c.id as "channelId", c.organisation_id as "organisationId", c.name, c.network, c.credential from channels c
      where c.status = 'disconnected' and c.credential is not null
        and not exists (select from deliveries d where d.channel_id = c.id and d.state in ('sending', 'uncertain'))
      order by c.id for no key update skip locked`)
    for (const { network, credential, ...channel } of rows) {
      const isKnown = networks[network] !== undefined
      if ((!isKnown || networks[network]?.revoking) && !(await endLater(tx, ring, channel, credential, 0)))
        await recordLeft(tx, channel)
      await tx.execute(sql`
        update channels set credential = null where id = ${channel.channelId} and organisation_id = ${channel.organisationId}`)
    }
  })
}

/** Record in the organisation's activity that we could not revoke an access, because no key opens its credential. */
export function recordLeft(tx: Tx, channel: Named): Promise<void> {
  return record(tx, channel, { action: 'channel.access_left', reason: reasonOf(new SealError()) })
}

type Due = Named & {
  id: string
  sealed: Uint8Array
  tries: number
  network: string
  remoteAccount: string
}

/** Revoke the credentials that are due, one try each. Safe in any number of processes. */
export async function revokeDue(deps: Deps): Promise<void> {
  const { db, times } = deps
  // The wait depends on the number of tries. A try that crashes its process counts as well.
  const waits = sql.join(
    times.revokeBackoffMs.map((wait, n) => sql`when ${n} then ${ms(wait)}`),
    sql` `,
  )
  const last = ms(times.revokeBackoffMs.at(-1)!)
  const rows = await db.execute<Due>(sql`
    with due as materialized (
      select id from revocations where next_try_at <= now() order by next_try_at limit ${AtOnce} for no key update skip locked
    )
    update revocations r set tries = r.tries + 1, next_try_at = now() + case r.tries ${waits} else ${last} end
    from due, channels c where r.id = due.id and c.id = r.channel_id and c.organisation_id = r.organisation_id
    returning r.id, r.organisation_id as "organisationId", r.channel_id as "channelId", r.sealed, r.tries, c.network,
      c.remote_account as "remoteAccount", c.name`)
  await Promise.all([...rows].map((due) => tryOnce(deps, due)))
}

async function tryOnce(deps: Deps, due: Due): Promise<void> {
  const { db, times, log } = deps
  const about = { organisation: due.organisationId, channel: due.channelId }
  try {
    const did = await revoke(deps, due)
    await db.transaction((tx) => close(tx, due, did ? { action: 'channel.access_ended' } : null))
    log.info({ ...about, did }, 'finished revoking a credential at its network')
  } catch (error) {
    const isFinal = error instanceof SealError || (error instanceof PublishError && error.verdict === 'refused')
    log.warn({ ...about, err: error, tries: due.tries }, 'could not revoke a credential at its network')
    if (!isFinal && due.tries <= times.revokeBackoffMs.length) return
    await db.transaction((tx) => close(tx, due, { action: 'channel.access_left', reason: reasonOf(error) }))
  }
}

/** False if there is nothing to revoke, for example because another connection uses the same access. */
async function revoke(deps: Deps, due: Due): Promise<boolean> {
  const { ring, networks, outbound, times } = deps
  const network = networks[due.network]
  if (!network) throw new Error(`This worker does not know the network ${due.network}.`)
  const { revoking } = network
  if (!revoking) return false
  const credential = JSON.parse(open(ring, placeOf(due), due.sealed)) as Credential
  const inUse = await credentialsInUse(deps, due)
  if (inUse.some((other) => revoking.isSame(credential, other))) return false
  await revoking.revoke(credential, { outbound, signal: AbortSignal.timeout(times.sendMs) })
  return true
}

// Some servers give the same token again, also to another organisation with this account. We show none of their data.
async function credentialsInUse({ db, ring }: Deps, { network, remoteAccount }: Due): Promise<Credential[]> {
  const rows = await db.execute<Owned & { credential: Uint8Array }>(sql`
    select id as "channelId", organisation_id as "organisationId", credential from channels
    where network = ${network} and remote_account = ${remoteAccount} and credential is not null`)
  const credentials = [...rows].map(({ credential, ...channel }) => opened(ring, channel, credential))
  return credentials.filter((credential) => credential !== null)
}

type Outcome = { action: 'channel.access_ended' | 'channel.access_left'; reason?: string }

async function close(tx: Tx, due: Due, outcome: Outcome | null): Promise<void> {
  const deleted = await tx.execute(sql`
    delete from revocations where id = ${due.id} and organisation_id = ${due.organisationId} returning id`)
  if (deleted.length > 0 && outcome) await record(tx, due, outcome)
}

async function record(tx: Tx, { organisationId, channelId, name }: Named, { action, reason }: Outcome): Promise<void> {
  await tx.insert(activity).values({
    organisationId,
    action,
    actorKind: 'punctual',
    actorId: null,
    actorName: 'Punctual',
    outcome: 'ok',
    ...{ subjectId: channelId, subjectName: name, detail: reason ? { reason } : {} },
  })
}

// We show only messages that are written for people.
function reasonOf(error: unknown): string {
  const isForPeople = error instanceof PublishError || error instanceof ConnectError
  return `${isForPeople ? error.message : 'Something broke on our side.'} To end it yourself, remove Punctual from the account's authorized apps. On Bluesky, delete the app password.`
}

function placeOf({ id, organisationId }: { id: string; organisationId: string }) {
  return { table: 'revocations', id, organisationId, field: 'sealed' }
}
