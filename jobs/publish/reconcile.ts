import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { cannotTellError, UnclearCode, unclearError } from '../delivery-errors.ts'
import type { Deps } from '../deps.ts'
import { logFields, ms } from '../ledger/ledger.ts'
import { isSought } from '../ledger/under-way.ts'
import {
  type Network,
  type Other,
  type Publication,
  PublishError,
  type Recorded,
  serverOf,
  Unclear,
} from '../networks/network.ts'
import { type Finding, recordFinding, type SoughtDelivery } from './findings.ts'
import { openSession, refreshed } from './network-session.ts'
import { retryWrite } from './retry-write.ts'

/**
 * Begin to look for those of these deliveries that are due for a look, unless another worker looks for them already.
 */
export async function beginLooks(
  tx: Tx,
  { owner, times }: Pick<Deps, 'owner' | 'times'>,
  deliveryIds: string[],
): Promise<Map<string, SoughtDelivery>> {
  const rows = await tx.execute<Omit<SoughtDelivery, 'intendedAt'> & { intendedAt: string }>(sql`
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
export async function look(deps: Deps, delivery: SoughtDelivery): Promise<void> {
  const log = deps.log.child(logFields(delivery))
  try {
    deps.at('looking')
    const finding = await findingOf(deps, delivery)
    log.info({ finding: finding.kind }, 'looked for a post')
    await retryWrite({ ...deps, log }, () => recordFinding({ ...deps, log }, delivery, finding))
  } catch (error) {
    log.error({ err: error }, 'could not record the result of a look: another worker will look again')
  }
}

async function findingOf(deps: Deps, delivery: SoughtDelivery): Promise<Finding> {
  const network = deps.networks[delivery.network]
  if (!network)
    return { kind: 'unreadable', error: new Error(`This worker does not know the network ${delivery.network}.`) }
  if (network.repeatedSend === 'keyed') return { kind: 'repeat' }
  if (network.repeatedSend === 'blind' || !network.find)
    return { kind: 'unknowable', error: cannotTellError(serverOf(delivery, network)) }
  try {
    const found = await findWithRefresh(deps, network, delivery)
    if (found instanceof Unclear) return { kind: 'unclear', error: unclearError(found.message, found.url) }
    return found ? { kind: 'found', publication: found } : { kind: 'absent' }
  } catch (error) {
    const isFinal = error instanceof PublishError && (error.verdict === 'refused' || error.verdict === 'reconnect')
    return isFinal
      ? { kind: 'unknowable', error: cannotTellError(serverOf(delivery, network), error.message) }
      : { kind: 'unreadable', error }
  }
}

/**
 * How many other open deliveries of an account a look compares. With more, we cannot be sure that a post is this one.
 */
const OthersAtMost = 30

type Found = Publication | Unclear | null

async function findWithRefresh(deps: Deps, network: Network, delivery: SoughtDelivery): Promise<Found> {
  try {
    return await find(deps, network, delivery)
  } catch (error) {
    if (!(error instanceof PublishError) || error.verdict !== 'reconnect') throw error
    const renewed = (await refreshed(deps, network, delivery)) ?? (await connectedAnew(deps, delivery))
    if (!renewed) throw error
    return find(deps, network, renewed)
  }
}

/** The channel with its new credential, if a person has connected it again since. Otherwise null. */
async function connectedAnew({ db }: Deps, delivery: SoughtDelivery): Promise<SoughtDelivery | null> {
  const [row] = await db.execute<{ credential: Uint8Array; credentialVersion: number }>(sql`
    select credential, credential_version as "credentialVersion" from channels
    where id = ${delivery.channelId} and organisation_id = ${delivery.organisationId}
      and credential is not null and credential_version <> ${delivery.credentialVersion}`)
  return row ? { ...delivery, ...row } : null
}

async function find(deps: Deps, network: Network, delivery: SoughtDelivery): Promise<Found> {
  const { db, times } = deps
  const session = openSession(deps, delivery, AbortSignal.timeout(times.lookLeaseMs * 0.75))
  const { publishKey, intendedAt: since } = delivery
  return network.find!(
    {
      publishKey,
      since,
      prepared: JSON.parse(delivery.prepared) as unknown,
      now: await databaseClock(db),
      recorded: (remoteIds) => recordedOf(db, delivery, remoteIds),
      others: () => othersOf(deps, delivery),
    },
    session,
  )
}

// The clock of this machine may differ from the database's clock, which the times in the ledger come from.
async function databaseClock(db: Db): Promise<() => Date> {
  const [row] = await db.execute<{ ms: number }>(sql`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`)
  const aheadMs = Date.now() - row!.ms
  return () => new Date(Date.now() - aheadMs)
}

// SQL: the channels of the account that we read. Other organisations may have connected the same account, so the posts
// that we see may be theirs. We never show anyone their data.
function onAccount({ network, remoteAccount }: SoughtDelivery): SQL {
  return sql`channel_id in (select c.id from channels c where c.network = ${network} and c.remote_account = ${remoteAccount})`
}

async function recordedOf(db: Db, delivery: SoughtDelivery, remoteIds: string[]): Promise<Map<string, Recorded>> {
  const rows = await db.execute<{ remoteId: string; sentAt: string; recordedAt: string }>(sql`
    select d.remote_id as "remoteId", coalesce(a.intended_at, d.published_at) as "sentAt",
      case when a.outcome = 'published' or a.found_at is not null then greatest(d.published_at, a.ended_at, a.found_at)
        else now() end as "recordedAt" -- the latest possible time
    from deliveries d left join attempts a on a.delivery_id = d.id and a.no = d.attempt_no
    where d.${onAccount(delivery)} and d.id <> ${delivery.id} and d.published_at is not null
      and d.remote_id = any(${sql.param(remoteIds)}::text[])`)
  return new Map(
    [...rows].map(({ remoteId, sentAt, recordedAt }) => [
      remoteId,
      { sentAt: new Date(sentAt), recordedAt: new Date(recordedAt) },
    ]),
  )
}

// A delivery that needs review is still open: we must not record the post that its person sees for another delivery. If
// a person resolved one as published or cancelled it, we don't know its post at the network: it may be the one we see.
async function othersOf({ db, times }: Deps, delivery: SoughtDelivery): Promise<Other[] | null> {
  const rows = await db.execute<{ prepared: string; isUnderWay: boolean }>(sql`
    select d.prepared, d.state = 'sending' as "isUnderWay"
    from deliveries d join attempts a on a.delivery_id = d.id and a.no = d.attempt_no
    where d.${onAccount(delivery)} and d.id <> ${delivery.id} and d.prepared is not null
      and (d.state in ('sending', 'uncertain') or (a.intended_at > ${delivery.intendedAt.toISOString()}::timestamptz - ${ms(times.giveUpMs)}
        and (d.state = 'needs_review' and d.maybe_out or d.state in ('published', 'cancelled') and d.remote_id is null)))
    limit ${OthersAtMost + 1}`)
  if (rows.length > OthersAtMost) return null
  return [...rows].map(({ prepared, isUnderWay }) => ({ prepared: JSON.parse(prepared) as unknown, isUnderWay }))
}
