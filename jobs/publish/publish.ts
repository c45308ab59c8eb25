import { sql } from 'drizzle-orm'
import { isDatabaseAway, sqlStateOf } from '../../db/client.ts'
import { FileNotFound } from '../../db/files/files.ts'
import type { Deps } from '../deps.ts'
import { type ClaimedDelivery, type Ending, type Intent, intend, logFields } from '../ledger/ledger.ts'
import { type Proof, postpone, recordPublished, wakeNextSuspect } from '../ledger/settle.ts'
import { type Content, type Network, type Publication, PublishError } from '../networks/network.ts'
import { batch } from './batch.ts'
import { type Failed, serverOf, settleFailed, storageAway } from './failure.ts'
import { notePublished, openSession, refreshed } from './network-session.ts'
import { retryWrite } from './retry-write.ts'

/** What this worker has under way. When it stops, the gate is closed: no more intents begin, and `sending` finishes. */
export type Gate = { closed: boolean; claimed: Set<string>; sending: Set<string> }

/** Writes that we record for many deliveries in one commit (jobs/publish/batch.ts). */
export type BatchedWrites = {
  intend: (intent: Intent) => Promise<boolean>
  /** How long after its due time we recorded it, in milliseconds. Null if it was recorded already. */
  recordPublished: (answer: Answer) => Promise<number | null>
}

type Answer = Proof & Pick<ClaimedDelivery, 'isSuspect'>

const WrittenAtOnce = 100

/** Batch the transitions of all deliveries that this worker sends, as many as possible in one commit. */
export function batchWrites({ db, times }: Pick<Deps, 'db' | 'times'>): BatchedWrites {
  const together = { most: WrittenAtOnce, isOfOne: (error: unknown) => !isDatabaseAway(error) }
  return {
    intend: batch((intents: Intent[]) => intend(db, times, intents), together),
    recordPublished: batch(async (proofs: Answer[]) => {
      const lateMs = await db.transaction(async (tx) => {
        const recorded = await recordPublished(tx, proofs)
        await wakeNextSuspect(tx, { isSuspect: proofs.some(({ isSuspect }) => isSuspect) })
        return recorded
      })
      return proofs.map(({ id }) => lateMs.get(id) ?? null)
    }, together),
  }
}

/** Send one delivery and record the outcome. An error becomes a verdict, never an exception. */
export async function deliver(deps: Deps, writes: BatchedWrites, gate: Gate, delivery: ClaimedDelivery): Promise<void> {
  const log = deps.log.child(logFields(delivery))
  gate.claimed.add(delivery.id)
  try {
    deps.at('claimed')
    const outcome = await outcomeOf({ ...deps, log }, writes, gate, delivery)
    // We retry longer to record a proof, because only we have it.
    const forMs = outcome.kind === 'published' ? deps.times.claimedAtMostMs : deps.times.leaseMs
    const ended = await retryWrite({ ...deps, log }, () => settle({ ...deps, log }, writes, delivery, outcome), forMs)
    const err = outcome.kind === 'published' ? undefined : outcome.error
    log.info({ outcome: ended.outcome, network: delivery.network, err }, 'attempt ended')
    deps.metrics.attemptEnded(delivery.network, ended.outcome)
    if (outcome.kind === 'lost' && !gate.closed) deps.metrics.leaseLost()
    deps.at('settled')
  } catch (error) {
    log.error({ err: error }, 'could not record an outcome: another worker will find it out')
  } finally {
    gate.claimed.delete(delivery.id)
    gate.sending.delete(delivery.id)
  }
}

type Outcome =
  | { kind: 'published'; publication: Publication }
  | Failed
  | { kind: 'renewed'; error: PublishError } // its credential was refused and we refreshed it: claim again
  | { kind: 'lost'; error: null } // the lease went to another worker, or the channel was paused: nothing was sent

async function outcomeOf(
  deps: Deps,
  writes: BatchedWrites,
  gate: Gate,
  delivery: ClaimedDelivery,
  hasRefreshed = false,
): Promise<Outcome> {
  let intended = false
  try {
    const network = networkOf(deps, delivery)
    const prepared = delivery.maybeOut && delivery.prepared ? delivery.prepared : await prepare(deps, network, delivery)
    deps.at('prepared')
    gate.sending.add(delivery.id)
    // We count from before the intent. If we learn late of its commit, others may look for the post already: do not
    // send.
    const outbound = deps.outbound.beginningWithin(deps.times.beginMs)
    if (gate.closed || !(await writes.intend({ delivery, prepared }))) return { kind: 'lost', error: null }
    intended = true
    deps.at('intended')
    const publication = await send({ ...deps, outbound }, network, delivery, prepared)
    deps.at('answered')
    return { kind: 'published', publication }
  } catch (error) {
    const failed: Failed = { kind: 'failed', error, intended, delivery }
    const away = intended ? null : storageAway(deps, error)
    if (away) return { ...failed, error: away }
    // After a 401 we try once with a new credential. After the intent, this needs a new claim.
    if (!(error instanceof PublishError) || error.verdict !== 'reconnect' || hasRefreshed) return failed
    if (await wasRefusedBefore(deps, delivery)) return failed
    const fresh = await tryRefresh(deps, delivery)
    if (!fresh) return failed
    if ('error' in fresh) return { ...failed, error: fresh.error, intended: false }
    return intended ? { kind: 'renewed', error } : outcomeOf(deps, writes, gate, fresh, true)
  }
}

async function prepare(deps: Deps, network: Network, delivery: ClaimedDelivery): Promise<string> {
  const content = contentOf(deps, delivery)
  const prepared = await within(deps.times.prepareMs, serverOf(deps, delivery), (signal) =>
    network.prepare(content, delivery.publishKey, openSession(deps, delivery, signal)),
  )
  return JSON.stringify(prepared)
}

/** One call of at most 15 s. `deps.outbound` enforces the deadline of its first byte. */
function send(deps: Deps, network: Network, delivery: ClaimedDelivery, prepared: string): Promise<Publication> {
  const once = { publishKey: delivery.publishKey, prepared: JSON.parse(prepared) as unknown }
  return within(deps.times.sendMs, serverOf(deps, delivery), (signal) =>
    network.send(once, openSession(deps, delivery, signal)),
  )
}

// Not AbortSignal.timeout: with a listener, it stays in memory until its timeout, long after the call has ended.
async function within<T>(ms: number, server: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const halt = new AbortController()
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    over.reject(new PublishError('unknown', `${server} took too long.`, { code: 'timeout' }))
    halt.abort(new DOMException('It took too long.', 'TimeoutError'))
  }, ms)
  try {
    return await Promise.race([call(halt.signal), over.promise])
  } finally {
    clearTimeout(timer)
  }
}

function networkOf({ networks }: Deps, { network }: ClaimedDelivery): Network {
  const found = networks[network]
  if (!found)
    throw new PublishError('later', `This worker does not know the network ${network}.`, { code: 'network_unknown' })
  return found
}

function contentOf({ files, appUrl }: Deps, { text, media }: ClaimedDelivery): Content {
  return {
    text,
    media: media.map(({ key, ...file }) => ({
      ...file,
      url: `${appUrl}/files/${key}`,
      read: () => files.readAll(key).catch(refuseIfGone),
      stream: () => files.read(key).catch(refuseIfGone),
    })),
  }
}

function refuseIfGone(error: unknown): never {
  if (!(error instanceof FileNotFound)) throw error
  const more = { code: 'media_gone', nextStep: 'Make the post again with the file.', cause: error }
  throw new PublishError('refused', 'A file of this post is gone.', more)
}

/** The delivery with a new credential. Null if the network gives none. `error` if the failure may pass. */
async function tryRefresh(
  deps: Deps,
  delivery: ClaimedDelivery,
): Promise<ClaimedDelivery | { error: PublishError } | null> {
  try {
    return await refreshed(deps, networkOf(deps, delivery), delivery)
  } catch (error) {
    if (error instanceof PublishError && error.verdict === 'reconnect') return null
    return { error: new PublishError('later', 'We could not renew the connection.', { cause: error }) }
  }
}

/** Record how the attempt ended, and return it. */
async function settle(deps: Deps, writes: BatchedWrites, delivery: ClaimedDelivery, outcome: Outcome): Promise<Ending> {
  const { db, times } = deps
  if (outcome.kind === 'lost' || outcome.kind === 'renewed') {
    const { message = null, status = null, reply = null } = outcome.error ?? {}
    const ending = { outcome: outcome.kind === 'lost' ? 'lost' : 'reconnect', message, status, reply }
    const atOnce = { waitMs: 0, countsAsStep: false, pausesChannel: false, error: null }
    await postpone(db, times, delivery, atOnce, ending)
    return ending
  }
  if (outcome.kind === 'published') {
    try {
      const proof = { ...delivery, publication: outcome.publication, evidence: 'answered' as const }
      const lateMs = await writes.recordPublished(proof)
      if (lateMs !== null) notePublished(deps, delivery.network, lateMs)
      return { outcome: 'published' }
    } catch (error) {
      if (sqlStateOf(error) !== '23505') throw error
      const stranger = new PublishError('unknown', 'The network named a post that belongs to another delivery.', {
        code: 'remote_id_taken',
        cause: error,
      })
      return settleFailed(deps, { ...outcome, kind: 'failed', error: stranger, intended: true, delivery })
    }
  }
  return settleFailed(deps, outcome)
}

// This is the second 401 in a row, with a newer credential than the first: a refresh does not help.
async function wasRefusedBefore({ db }: Deps, { id, attemptNo, credentialVersion }: ClaimedDelivery): Promise<boolean> {
  const rows = await db.execute(sql`
    select from attempts where delivery_id = ${id} and no = ${attemptNo - 1} and outcome = 'reconnect'
      and credential_version < ${credentialVersion}`)
  return rows.length > 0
}
