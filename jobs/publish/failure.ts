import { sql } from 'drizzle-orm'
import { isPassing } from '../../db/client.ts'
import { isFileStorageAway } from '../../db/files/files.ts'
import type { Deps } from '../deps.ts'
import type { ClaimedDelivery, Ending } from '../ledger/ledger.ts'
import { fail, hold, markUncertain, postpone } from '../ledger/settle.ts'
import { PublishError, serverName } from '../networks/network.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { backoff } from '../timeouts-and-delays.ts'

// Turns an error into a verdict, and the verdict into the delivery's next state.

const InternalFailuresAtMost = 5

/** An attempt that failed. `intended`: after the intent, the post may be out unless we know that it failed. */
export type Failed = { kind: 'failed'; error: unknown; intended: boolean; delivery: ClaimedDelivery }

/** Record the result of a failed attempt on its delivery. Returns how the attempt ended. */
export async function settleFailed(deps: Deps, failed: Failed): Promise<Ending> {
  const { error, intended, delivery } = failed
  const verdict = verdictOf(error, intended, serverOf(deps, delivery))
  const { code, message, status, reply } = verdict
  const ending: Ending = { outcome: code === 'internal' ? 'internal' : verdict.verdict, message, status, reply }
  if (code === 'internal') deps.log.error({ err: error }, 'an attempt failed on our side')
  else if (verdict !== error && !(error instanceof OutboundError))
    deps.log.error({ err: error }, 'a network failed with an unexpected error')
  await writeFailure(deps, delivery, verdict, ending)
  deps.tally.failed()
  if (status === 429) deps.metrics.limited(delivery.network)
  return ending
}

async function writeFailure(
  deps: Deps,
  delivery: ClaimedDelivery,
  verdict: PublishError,
  ending: Ending,
): Promise<void> {
  const { db, times } = deps
  const { code, message, nextStep } = verdict
  const explained = { code, message, nextStep }
  if (verdict.verdict === 'refused') return fail(db, delivery, explained, ending)
  if (verdict.verdict === 'reconnect') return hold(db, delivery, explained, ending)
  if (verdict.verdict === 'unknown') return markUncertain(db, delivery, lookAfterMs(deps, delivery), explained, ending)
  if (code === 'internal' && (await internalFailures(deps, delivery)) >= InternalFailuresAtMost - 1)
    return fail(db, delivery, explained, ending)
  const told = verdict.retryAt
    ? Math.min(Math.max(verdict.retryAt.getTime() - Date.now(), 0), times.waitAtMostMs)
    : null
  const isLimited = verdict.status === 429
  const wait = {
    waitMs: told ?? backoff(times, delivery.backoffStep),
    countsAsStep: told === null && !isLimited,
    pausesChannel: isLimited,
    error: explained,
  }
  return postpone(db, times, delivery, wait, ending)
}

/** The verdict of any error: `later` if the post is surely not sent, `unknown` if a byte may have left. */
function verdictOf(error: unknown, intended: boolean, server: string): PublishError {
  if (error instanceof PublishError) return intended ? error : notSent(error)
  if (error instanceof OutboundError) {
    const more = { code: `network_${error.kind}`, cause: error }
    return new PublishError(error.sent && intended ? 'unknown' : 'later', error.messageOf(server), more)
  }
  if (intended) return new PublishError('unknown', `The answer of ${server} could not be understood.`, { cause: error })
  return new PublishError('later', 'Something went wrong on our side.', { code: 'internal', cause: error })
}

/** We have sent nothing but uploads. So an unknown outcome is a failure that may pass. */
function notSent(error: PublishError): PublishError {
  if (error.verdict !== 'unknown') return error
  const { message, status, reply } = error
  const kept = { ...(status === null ? {} : { status }), ...(reply === null ? {} : { reply }) }
  const code = error.code === 'outcome_unknown' ? 'network_busy' : error.code
  return new PublishError('later', message, { ...kept, code, cause: error })
}

/** The name, for people, of the server that a claimed delivery goes to. */
export function serverOf({ networks }: Deps, { network, remoteAccount }: ClaimedDelivery): string {
  return networks[network] ? serverName(networks[network], remoteAccount) : 'The network'
}

const StorageSteps = 60 // a minute: each try downloads again and adds an attempt

/** The error if our database or file storage was not available. Null if `cause` has another reason. */
export function storageAway({ times }: Deps, cause: unknown): PublishError | null {
  // The post did not fail, so we count no backoff step. But we do not retry at once: that would loop without a pause.
  const retryIn = (ms: number) => new Date(Date.now() + ms)
  if (isFileStorageAway(cause)) {
    const more = { code: 'file_storage_away', retryAt: retryIn(StorageSteps * times.reaperMs), cause }
    return new PublishError('later', 'A file of this post could not be read.', more)
  }
  // A refused connection of the network has the same codes as one of the database.
  if (!isPassing(cause) || cause instanceof OutboundError || cause instanceof PublishError) return null
  const more = { code: 'database_away', retryAt: retryIn(times.reaperMs), cause }
  return new PublishError('later', 'Our database took no work just now.', more)
}

// We cannot ask a blind network, so we do not wait: reconcile marks the delivery as needs review at once. The random
// part spreads the looks for deliveries that failed at the same time.
function lookAfterMs({ networks, times }: Deps, { network }: ClaimedDelivery): number {
  if (networks[network]?.repeatedSend === 'blind') return 0
  return times.sendMs + times.firstLookMs + Math.random() * times.lookSpreadMs
}

async function internalFailures({ db }: Deps, { id }: ClaimedDelivery): Promise<number> {
  const rows = await db.execute<{ outcome: string | null }>(sql`
    select outcome from attempts where delivery_id = ${id} and ended_at is not null order by no desc limit ${InternalFailuresAtMost - 1}`)
  return [...rows].filter(({ outcome }) => outcome === 'internal').length
}
