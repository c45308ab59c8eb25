import { sql } from 'drizzle-orm'
import { isDatabaseAway, sqlStateOf } from '../../db/client.ts'
import { FileNotFound } from '../../db/files/files.ts'
import type { Deps } from '../deps.ts'
import { type Claimed, type Ending, type Intent, intend } from '../ledger/ledger.ts'
import { type Proof, postpone, recordPublished, wakeNextSuspect } from '../ledger/settle.ts'
import { type Content, type Network, type Publication, PublishError } from '../networks/network.ts'
import { batch } from './batch.ts'
import { type Failed, serverOf, settleFailed, storageAway } from './failure.ts'
import { notePublished, openSession, refreshed } from './network-session.ts'
import { retryWrite } from './retry-write.ts'

/** What this worker has under way: closed when it stops, nothing more is intended, and `sending` runs to its end. */
export type Gate = { closed: boolean; claimed: Set<string>; sending: Set<string> }

/** What is written down for many deliveries at once (jobs/publish/batch.ts). */
export type Ledger = {
  intend: (intent: Intent) => Promise<boolean>
  /** How long after its due time it was recorded, in milliseconds; null when it already was. */
  recordPublished: (answer: Answer) => Promise<number | null>
}

type Answer = Proof & Pick<Claimed, 'isSuspect'>

const WrittenAtOnce = 100

/** The transitions of all that this worker sends, gathered: what one commit can carry, one commit carries. */
export function openLedger({ db, times }: Pick<Deps, 'db' | 'times'>): Ledger {
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

/** Send one claimed delivery and record the outcome. An error is a verdict, never an exception. */
export async function deliver(deps: Deps, ledger: Ledger, gate: Gate, claimed: Claimed): Promise<void> {
  const log = deps.log.child({
    organisation: claimed.organisationId,
    post: claimed.postId,
    delivery: claimed.id,
    attempt: claimed.attemptNo,
  })
  gate.claimed.add(claimed.id)
  try {
    deps.at('claimed')
    const outcome = await outcomeOf({ ...deps, log }, ledger, gate, claimed)
    // Proof is worth writing down whenever the database comes back: nobody else has it.
    const forMs = outcome.kind === 'published' ? deps.times.claimedAtMostMs : deps.times.leaseMs
    const ended = await retryWrite({ ...deps, log }, () => settle({ ...deps, log }, ledger, claimed, outcome), forMs)
    const err = outcome.kind === 'published' ? undefined : outcome.error
    log.info({ outcome: ended.outcome, network: claimed.network, err }, 'attempt ended')
    deps.metrics.attemptEnded(claimed.network, ended.outcome)
    if (outcome.kind === 'lost' && !gate.closed) deps.metrics.leaseLost()
    deps.at('settled')
  } catch (error) {
    log.error({ err: error }, 'an outcome could not be written down: others find it out')
  } finally {
    gate.claimed.delete(claimed.id)
    gate.sending.delete(claimed.id)
  }
}

type Outcome =
  | { kind: 'published'; publication: Publication }
  | Failed
  | { kind: 'renewed'; error: PublishError } // refused for its credential, which has been refreshed: claim again
  | { kind: 'lost'; error: null } // the lease went to somebody else, or the channel was paused: nothing was sent

async function outcomeOf(deps: Deps, ledger: Ledger, gate: Gate, claimed: Claimed): Promise<Outcome> {
  let channel = claimed
  for (let hasRefreshed = false; ; ) {
    let intended = false
    try {
      const network = networkOf(deps, channel)
      const prepared = channel.maybeOut && channel.prepared ? channel.prepared : await prepare(deps, network, channel)
      deps.at('prepared')
      gate.sending.add(claimed.id)
      // From before the intent: one whose commit is heard of late must not be sent when others may look for it already.
      const outbound = deps.outbound.beginningWithin(deps.times.beginMs)
      if (gate.closed || !(await ledger.intend({ claimed: channel, prepared }))) return { kind: 'lost', error: null }
      intended = true
      deps.at('intended')
      const publication = await send({ ...deps, outbound }, network, channel, prepared)
      deps.at('answered')
      return { kind: 'published', publication }
    } catch (error) {
      const away = intended ? null : storageAway(deps, error)
      if (away) return { kind: 'failed', error: away, intended, channel }
      const failed: Outcome = { kind: 'failed', error, intended, channel }
      // A 401 is answered once with a new credential. After the intent this takes a claim of its own.
      if (!(error instanceof PublishError) || error.verdict !== 'reconnect' || hasRefreshed) return failed
      if (await wasRefusedBefore(deps, channel)) return failed
      const fresh = await tryRefresh(deps, channel)
      if (!fresh) return failed
      if ('error' in fresh) return { ...failed, error: fresh.error, intended: false }
      if (intended) return { kind: 'renewed', error }
      channel = fresh
      hasRefreshed = true
    }
  }
}

async function prepare(deps: Deps, network: Network, claimed: Claimed): Promise<string> {
  const content = contentOf(deps, claimed)
  const prepared = await within(deps.times.prepareMs, serverOf(deps, claimed), (signal) =>
    network.prepare(content, claimed.publishKey, openSession(deps, claimed, signal)),
  )
  return JSON.stringify(prepared)
}

/** One call, over within 15 s; `deps.outbound` keeps the deadline of its first byte. */
function send(deps: Deps, network: Network, claimed: Claimed, prepared: string): Promise<Publication> {
  const delivery = { publishKey: claimed.publishKey, prepared: JSON.parse(prepared) as unknown }
  return within(deps.times.sendMs, serverOf(deps, claimed), (signal) =>
    network.send(delivery, openSession(deps, claimed, signal)),
  )
}

// No AbortSignal.timeout: one that is listened to stays, with all that hangs on it, until its time is over, long after the call.
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

function networkOf({ networks }: Deps, { network }: Claimed): Network {
  const found = networks[network]
  if (!found)
    throw new PublishError('later', `This worker does not know the network ${network}.`, { code: 'network_unknown' })
  return found
}

function contentOf({ files, appUrl }: Deps, { text, media }: Claimed): Content {
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

/** The delivery with a new credential; null if the network gives none; `error` if that may pass. */
async function tryRefresh(deps: Deps, channel: Claimed): Promise<Claimed | { error: PublishError } | null> {
  try {
    return await refreshed(deps, networkOf(deps, channel), channel)
  } catch (error) {
    if (error instanceof PublishError && error.verdict === 'reconnect') return null
    return { error: new PublishError('later', 'The connection could not be renewed just now.', { cause: error }) }
  }
}

/** Write down how the attempt ended; returns what stands there. */
async function settle(deps: Deps, ledger: Ledger, claimed: Claimed, outcome: Outcome): Promise<Ending> {
  const { db, times } = deps
  if (outcome.kind === 'lost' || outcome.kind === 'renewed') {
    const { message = null, status = null, reply = null } = outcome.error ?? {}
    const ending = { outcome: outcome.kind === 'lost' ? 'lost' : 'reconnect', message, status, reply }
    const atOnce = { waitMs: 0, countsAsStep: false, pausesChannel: false, error: null }
    await postpone(db, times, claimed, atOnce, ending)
    return ending
  }
  if (outcome.kind === 'published') {
    try {
      const proof = { ...claimed, publication: outcome.publication, evidence: 'answered' as const }
      const lateMs = await ledger.recordPublished(proof)
      if (lateMs !== null) notePublished(deps, claimed.network, lateMs)
      return { outcome: 'published' }
    } catch (error) {
      if (sqlStateOf(error) !== '23505') throw error
      const stranger = new PublishError('unknown', 'The network named a post that belongs to another delivery.', {
        code: 'remote_id_taken',
        cause: error,
      })
      return settleFailed(deps, { ...outcome, kind: 'failed', error: stranger, intended: true, channel: claimed })
    }
  }
  return settleFailed(deps, outcome)
}

// The second 401 in a row, with a credential newer than the one of the first: refreshing does not help.
async function wasRefusedBefore({ db }: Deps, { id, attemptNo, credentialVersion }: Claimed): Promise<boolean> {
  const rows = await db.execute(sql`
    select from attempts where delivery_id = ${id} and no = ${attemptNo - 1} and outcome = 'reconnect'
      and credential_version < ${credentialVersion}`)
  return rows.length > 0
}
