import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { ChannelLimits } from '../../db/schema/channels.ts'
import type { Deps } from '../deps.ts'
import { openSession, type SealedChannel } from '../publish/network-session.ts'

const ChannelsAtOnce = 10
const PauseMs = 500

type Due = SealedChannel & { limits: ChannelLimits }

/**
 * Ask the networks again for the limits of channels, if they are a day old: ten channels, one after another.
 *
 * Every worker does this each minute. Two workers never take the same channel. If a read fails, we keep the existing
 * limits and try again in an hour. Ends early when `signal` is aborted.
 */
export async function readDueLimits(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const channel of await takeDue(deps)) {
    if (signal.aborted) return
    await readAgain(deps, channel, signal)
    await sleep(PauseMs, undefined, { signal }).catch(() => {})
  }
}

// The worker that takes a channel postpones its next read, so that no other worker takes it. If the worker ends here,
// the read is an hour late.
async function takeDue({ db, networks, times }: Deps): Promise<Due[]> {
  const names = Object.keys(networks).filter((name) => networks[name]!.limits)
  if (names.length === 0) return []
  const rows = await db.execute<Due>(sql`
    update channels set limits_due_at = now() + make_interval(secs => ${times.limitsAgainMs / 1000})
    where id = any(array(
      select id from channels where limits_due_at <= now() and network = any(${sql.param(names)}::text[])
        and status <> 'disconnected' and credential is not null
      order by limits_due_at, id limit ${ChannelsAtOnce} for no key update skip locked))
    returning organisation_id as "organisationId", id as "channelId", network, remote_account as "remoteAccount",
      credential, credential_version as "credentialVersion", limits`)
  return [...rows]
}

async function readAgain(deps: Deps, channel: Due, signal: AbortSignal): Promise<void> {
  const { organisationId: organisation, channelId, network } = channel
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(deps.times.sendMs)])
  try {
    const limits = await deps.networks[network]!.limits!(openSession(deps, channel, inTime))
    await keep(deps, channel, limits ?? channel.limits)
  } catch (error) {
    deps.log.info({ err: error, organisation, channel: channelId }, 'could not read limits: we keep the old ones')
  }
}

// This does not overwrite the limits of an account that was connected again meanwhile. The next read is at a random
// time.
async function keep({ db, times, log }: Deps, channel: Due, limits: ChannelLimits): Promise<void> {
  const { organisationId: organisation, channelId, credentialVersion } = channel
  const [kept] = await db.execute<{ changed: boolean }>(sql`
    with before as (select limits from channels where id = ${channelId} and organisation_id = ${organisation})
    update channels c set limits = ${JSON.stringify(limits)}::text::jsonb,
      limits_due_at = now() + make_interval(secs => ${times.limitsAgeMs / 1000} + (random() - 0.5) * 8 * 3600)
    from before where c.id = ${channelId} and c.organisation_id = ${organisation} and c.credential_version = ${credentialVersion}
    returning before.limits <> c.limits as changed`)
  if (kept?.changed) log.info({ organisation, channel: channelId, limits }, 'the network changed its limits')
}
