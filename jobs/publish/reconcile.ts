import { type SQL, sql } from 'drizzle-orm'
import { type Db, sqlStateOf, type Tx } from '../../db/client.ts'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import {
  absentError,
  cannotTellError,
  notSeenError,
  repeatedError,
  UnclearCode,
  unclearError,
} from '../delivery-errors.ts'
import type { Deps } from '../deps.ts'
import { backoff } from '../durations.ts'
import { emit } from '../ledger/events.ts'
import { json, leaseCleared, ms } from '../ledger/ledger.ts'
import { lockedPost, recordPublished } from '../ledger/settle.ts'
import { isSought } from '../ledger/under-way.ts'
import { wakeAtDue, wakeChannels, wakeLook } from '../ledger/wake-ups.ts'
import {
  type Network,
  type Other,
  type Publication,
  PublishError,
  type Recorded,
  serverOf,
  Unclear,
} from '../networks/network.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { notePublished, openSession, refreshed, type SealedChannel } from './network-session.ts'
import { retryWrite } from './retry-write.ts'

/** An uncertain delivery that this worker looks for; only the holder of `lookToken` may say that it is absent. */
export type Looking = SealedChannel & {
  id: string
  postId: string
  attemptNo: number
  publishKey: string
  prepared: string
  backoffStep: number
  lookToken: string
  intendedAt: Date
  isSecond: boolean // an earlier complete reading did not show it
  unclear: DeliveryError | null // an earlier one left it open
  isTooOld: boolean
  isWithPerson: boolean // it waits for a person, whatever is found but the post
}

/** What a reading found. */
export type Finding =
  | { kind: 'found'; publication: Publication }
  | { kind: 'absent' }
  | { kind: 'unclear'; error: DeliveryError } // neither: a post that is there may be this one
  | { kind: 'repeat' } // a keyed network: the same again is the same post
  | { kind: 'unreadable'; error: unknown } // may pass
  | { kind: 'unknowable'; error: DeliveryError }

/** Begin to look for those of these deliveries that are to be looked for and whose time has come, unless somebody is at it. */
export async function beginLooks(
  tx: Tx,
  { owner, times }: Pick<Deps, 'owner' | 'times'>,
  deliveryIds: string[],
): Promise<Map<string, Looking>> {
  const rows = await tx.execute<Omit<Looking, 'intendedAt'> & { intendedAt: string }>(sql`
    with due as materialized (
      select d.id from deliveries d
      where d.id = any(${sql.param(deliveryIds)}::uuid[]) and ${isSought} and d.look_at <= now()
        and (d.look_token is null or d.lease_until <= now())
      order by d.id for no key update of d
    )
    update deliveries d set look_token = gen_random_uuid(), lease_owner = ${owner}, lease_until = now() + ${ms(times.lookLeaseMs)}
    from due, channels c, attempts a
    where d.id = due.id and c.id = d.channel_id and a.delivery_id = d.id and a.no = d.attempt_no
    returning d.id, d.organisation_id as "organisationId", d.post_id as "postId", d.channel_id as "channelId", d.attempt_no as "attemptNo",
      d.publish_key as "publishKey", d.prepared, d.backoff_step as "backoffStep", d.look_token as "lookToken",
      a.intended_at as "intendedAt", d.absent_at is not null as "isSecond",
      case when d.error ->> 'code' = ${UnclearCode} then d.error end as unclear,
      a.intended_at < now() - ${ms(times.giveUpMs)} as "isTooOld", d.state = 'needs_review' as "isWithPerson",
      c.network, c.remote_account as "remoteAccount", c.credential, c.credential_version as "credentialVersion"`)
  return new Map([...rows].map((row) => [row.id, { ...row, intendedAt: new Date(row.intendedAt) }]))
}

/** Find out whether an uncertain delivery is out, and record it. A look that fails is repeated later. */
export async function look(deps: Deps, looking: Looking): Promise<void> {
  const { organisationId: organisation, postId: post, id: delivery, attemptNo: attempt } = looking
  const log = deps.log.child({ organisation, post, delivery, attempt })
  try {
    deps.at('looking')
    const finding = await findingOf(deps, looking)
    log.info({ finding: finding.kind }, 'looked for a post')
    await retryWrite({ ...deps, log }, () => settle({ ...deps, log }, looking, finding))
  } catch (error) {
    log.error({ err: error }, 'what a look found could not be written down: others look again')
  }
}

async function findingOf(deps: Deps, looking: Looking): Promise<Finding> {
  const network = deps.networks[looking.network]
  if (!network)
    return { kind: 'unreadable', error: new Error(`This worker does not know the network ${looking.network}.`) }
  if (network.repeatedSend === 'keyed') return { kind: 'repeat' }
  if (network.repeatedSend === 'blind' || !network.find)
    return { kind: 'unknowable', error: cannotTellError(serverOf(looking, network)) }
  try {
    const found = await findWithRefresh(deps, network, looking)
    if (found instanceof Unclear) return { kind: 'unclear', error: unclearError(found.message, found.url) }
    return found ? { kind: 'found', publication: found } : { kind: 'absent' }
  } catch (error) {
    const isFinal = error instanceof PublishError && (error.verdict === 'refused' || error.verdict === 'reconnect')
    return isFinal
      ? { kind: 'unknowable', error: cannotTellError(serverOf(looking, network), error.message) }
      : { kind: 'unreadable', error }
  }
}

/** Other open deliveries of an account that a reading compares. With more, nothing that is seen is surely this one. */
const OthersAtMost = 30

type Found = Publication | Unclear | null

async function findWithRefresh(deps: Deps, network: Network, looking: Looking): Promise<Found> {
  try {
    return await find(deps, network, looking)
  } catch (error) {
    if (!(error instanceof PublishError) || error.verdict !== 'reconnect') throw error
    const renewed = (await refreshed(deps, network, looking)) ?? (await connectedAnew(deps, looking))
    if (!renewed) throw error
    return find(deps, network, renewed)
  }
}

/** The channel with the credential of a person who has connected it again since; null when nobody has. */
async function connectedAnew({ db }: Deps, looking: Looking): Promise<Looking | null> {
  const [row] = await db.execute<{ credential: Uint8Array; credentialVersion: number }>(sql`
    select credential, credential_version as "credentialVersion" from channels
    where id = ${looking.channelId} and organisation_id = ${looking.organisationId}
      and credential is not null and credential_version <> ${looking.credentialVersion}`)
  return row ? { ...looking, ...row } : null
}

async function find(deps: Deps, network: Network, looking: Looking): Promise<Found> {
  const { db, times } = deps
  const session = openSession(deps, looking, AbortSignal.timeout(times.lookLeaseMs * 0.75))
  const { publishKey, intendedAt: since } = looking
  return network.find!(
    {
      ...{ publishKey, since, prepared: JSON.parse(looking.prepared) as unknown },
      now: await databaseClock(db),
      recorded: (remoteIds) => recordedOf(db, looking, remoteIds),
      others: () => othersOf(deps, looking),
    },
    session,
  )
}

// The clock of this machine may be another one than the database's, whose instants the ledger holds.
async function databaseClock(db: Db): Promise<() => Date> {
  const [row] = await db.execute<{ ms: number }>(sql`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`)
  const aheadMs = Date.now() - row!.ms
  return () => new Date(Date.now() - aheadMs)
}

// SQL: the channels of the account that is read. Other organisations may have connected it too: what it shows may be theirs.
// Nothing of theirs is shown to anybody.
function onAccount({ network, remoteAccount }: Looking): SQL {
  return sql`channel_id in (select c.id from channels c where c.network = ${network} and c.remote_account = ${remoteAccount})`
}

async function recordedOf(db: Db, looking: Looking, remoteIds: string[]): Promise<Map<string, Recorded>> {
  const rows = await db.execute<{ remoteId: string; sentAt: string; recordedAt: string }>(sql`
    select d.remote_id as "remoteId", coalesce(a.intended_at, d.published_at) as "sentAt",
      case when a.outcome = 'published' or a.found_at is not null then greatest(d.published_at, a.ended_at, a.found_at)
        else now() end as "recordedAt" -- at the latest
    from deliveries d left join attempts a on a.delivery_id = d.id and a.no = d.attempt_no
    where d.${onAccount(looking)} and d.id <> ${looking.id} and d.published_at is not null
      and d.remote_id = any(${sql.param(remoteIds)}::text[])`)
  return new Map(
    [...rows].map(({ remoteId, sentAt, recordedAt }) => [
      remoteId,
      { sentAt: new Date(sentAt), recordedAt: new Date(recordedAt) },
    ]),
  )
}

// One that a person must decide on is still open: what they are shown must not be recorded for another meanwhile. And of one
// that they resolved as published, or cancelled, we don't know which status it is: it may be the one that we see.
async function othersOf({ db, times }: Deps, looking: Looking): Promise<Other[] | null> {
  const rows = await db.execute<{ prepared: string; isUnderWay: boolean }>(sql`
    select d.prepared, d.state = 'sending' as "isUnderWay"
    from deliveries d join attempts a on a.delivery_id = d.id and a.no = d.attempt_no
    where d.${onAccount(looking)} and d.id <> ${looking.id} and d.prepared is not null
      and (d.state in ('sending', 'uncertain') or (a.intended_at > ${looking.intendedAt.toISOString()}::timestamptz - ${ms(times.giveUpMs)}
        and (d.state = 'needs_review' and d.maybe_out or d.state in ('published', 'cancelled') and d.remote_id is null)))
    limit ${OthersAtMost + 1}`)
  if (rows.length > OthersAtMost) return null
  return [...rows].map(({ prepared, isUnderWay }) => ({ prepared: JSON.parse(prepared) as unknown, isUnderWay }))
}

/** Write down what a reading found, if it is still the one that counts. */
export async function settle(deps: Deps, looking: Looking, finding: Finding): Promise<void> {
  const { db, times, networks, log } = deps
  if (finding.kind === 'found') return recordFound(deps, looking, finding.publication)
  if (looking.isWithPerson) return settleWithPerson(deps, looking, finding)
  if (finding.kind === 'unknowable') return leaveToPerson(db, looking, finding.error)
  if (finding.kind === 'repeat') return repeat(db, looking, backoff(times, looking.backoffStep))
  const settlesWithinMs = networks[looking.network]?.settlesWithinMs ?? times.settlesWithinMs
  if (finding.kind === 'unclear') {
    if (looking.isSecond || looking.unclear) return leaveToPerson(db, looking, finding.error)
    return lookAgain(db, looking, settlesWithinMs, sql`error = ${json(finding.error)}`)
  }
  // What may have been it once is not proved absent by being gone.
  if (finding.kind === 'absent' && looking.unclear) return leaveToPerson(db, looking, looking.unclear)
  if (finding.kind === 'absent' && looking.isSecond) return sendAnew(db, looking, backoff(times, looking.backoffStep))
  if (finding.kind === 'absent') return lookAgain(db, looking, settlesWithinMs, sql`absent_at = now()`)
  const kind = finding.error instanceof OutboundError ? finding.error.kind : undefined
  log.warn({ err: finding.error, kind }, 'a reading failed')
  if (looking.isTooOld)
    return leaveToPerson(db, looking, looking.unclear ?? cannotTellError(serverOf(looking, networks[looking.network])))
  return lookAgain(db, looking, backoff(times, looking.backoffStep), oneStep)
}

/** Looked for once more after its channel was connected again: not found, it stays with the person. It is never sent. */
async function settleWithPerson(
  { db, times, networks }: Deps,
  looking: Looking,
  finding: Exclude<Finding, { kind: 'found' }>,
): Promise<void> {
  if (finding.kind === 'unreadable' && !looking.isTooOld)
    return lookAgain(db, looking, backoff(times, looking.backoffStep), oneStep)
  if (finding.kind === 'absent')
    return leaveToPerson(db, looking, notSeenError(serverOf(looking, networks[looking.network])))
  if (finding.kind === 'unclear' || finding.kind === 'unknowable') return leaveToPerson(db, looking, finding.error)
  await freeChannel(db, looking, sql`state = 'needs_review'`)
}

const oneStep = sql`backoff_step = backoff_step + 1`

async function recordFound(deps: Deps, looking: Looking, publication: Publication): Promise<void> {
  try {
    const lateMs = await deps.db.transaction(async (tx) => {
      const recorded = await recordPublished(tx, [{ ...looking, publication, evidence: 'found' }])
      await wakeChannels(tx, [looking.channelId])
      return recorded.get(looking.id)
    })
    if (lateMs !== undefined) notePublished(deps, looking.network, lateMs)
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error // recorded for another delivery meanwhile: not ours, look again
    await lookAgain(deps.db, looking, backoff(deps.times, looking.backoffStep), oneStep)
  }
}

/** A keyed network: send the same bytes with the same key again, after those behind it. It may be out until then. */
async function repeat(db: Db, looking: Looking, waitMs: number): Promise<void> {
  const later = sql`next_attempt_at = now() + ${ms(waitMs)}, backoff_step = backoff_step + 1`
  await freeChannel(db, looking, sql`state = 'scheduled', error = ${json(repeatedError)}, ${later}`)
}

/** Two complete readings did not show it: it is not out, and is prepared and sent anew. */
async function sendAnew(db: Db, looking: Looking, waitMs: number): Promise<void> {
  const later = sql`next_attempt_at = now() + ${ms(waitMs)}, backoff_step = backoff_step + 1`
  await freeChannel(
    db,
    looking,
    sql`state = 'scheduled', error = ${json(absentError)}, maybe_out = false, prepared = null, ${later}`,
  )
}

async function leaveToPerson(db: Db, looking: Looking, error: DeliveryError): Promise<void> {
  await freeChannel(db, looking, sql`state = 'needs_review', error = ${json(error)}`)
}

async function freeChannel(
  db: Db,
  { id, organisationId, postId, lookToken, channelId }: Looking,
  change: SQL,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`
      with ${lockedPost(id)}
      update deliveries d set ${change}, look_at = null, look_token = null, absent_at = null, ${leaseCleared}
      from post where d.id = ${id} and d.post_id = post.id and d.look_token = ${lookToken} and ${isSought}`)
    await emit(tx, organisationId, [postId])
    await wakeAtDue(tx, [id])
    await wakeChannels(tx, [channelId])
  })
}

async function lookAgain(db: Db, looking: Looking, waitMs: number, change: SQL): Promise<void> {
  const { id, organisationId, postId, lookToken } = looking
  await db.transaction(async (tx: Tx) => {
    await tx.execute(sql`
      with ${lockedPost(id)}
      update deliveries d set look_token = null, look_at = now() + ${ms(waitMs)}, ${leaseCleared}, ${change}
      from post where d.id = ${id} and d.post_id = post.id and d.look_token = ${lookToken} and ${isSought}`)
    await emit(tx, organisationId, [postId])
    await wakeLook(tx, [id])
  })
}
