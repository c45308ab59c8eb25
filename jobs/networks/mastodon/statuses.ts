import { z } from 'zod'
import type { Answer } from '../../outbound/outbound.ts'
import { PublishError, type Sought } from '../network.ts'
import { type NetworkClock, networkClock } from '../network-clock.ts'
import { instantOf, RemoteId, readAs, WebAddress } from '../verdict.ts'

const PageSize = 40 // Mastodon's maximum
const MostPages = 100
const MostOfAPage = 400 // we drop the rest of a longer page, and ask for it again
const MostBytes = 40 * 1024 * 1024 // of all pages

// snac2 ignores `limit` and `max_id` and returns its 256 newest statuses: a list of this length may be cut off. So may
// a full page that comes again instead of the next one.
const PerhapsCutOff = 200

const Status = z.object({
  id: RemoteId,
  created_at: z.coerce.date(),
  content: z.string(),
  text: z.string().nullish(), // the source, if the server gives it (GoToSocial, snac2)
  url: WebAddress,
  uri: WebAddress,
  reblog: z.unknown(),
  media_attachments: z.array(z.unknown()).default([]),
})
const Statuses = z.preprocess((list) => (Array.isArray(list) ? list.slice(0, MostOfAPage) : list), z.array(Status))
export type Status = z.infer<typeof Status>

/** Calls a URL as the account. Throws PublishError if the server refuses. */
export type Get = (url: string) => Promise<Answer>

/**
 * The statuses of an account, newest first. Left out: those recorded for other deliveries, and those surely older than
 * the send. `isComplete`: a status that is not in this list does not exist.
 */
export type Read = { statuses: Dated[]; isComplete: boolean }

/** doubtful: may be older than the send by the server's clock or list · older: unless we saw only a proxy's clock. */
export type Dated = Status & { age: 'younger' | 'doubtful' | 'older' }

type Place = { url: string; connectedAheadMs: number | null }
type Seen = { status: Status; isRecorded: boolean; isBehindRecorded: boolean }

/**
 * Read an account's statuses back to before a send: to one that was recorded before it. If there is none, the network's
 * clock decides how far. https://docs.joinmastodon.org/methods/accounts/#statuses
 *
 * Throws PublishError `unknown` if the server does not show enough of them.
 */
export async function readBack({ url, connectedAheadMs }: Place, sought: Sought, get: Get): Promise<Read> {
  const clock = networkClock(sought.since, connectedAheadMs)
  const seen = new Map<string, Seen>()
  const { host } = new URL(url)
  let page = `${url}?limit=${PageSize}`
  let bytes = 0
  for (let pages = 0; pages < MostPages && bytes < MostBytes; pages++) {
    const answer = await get(page)
    bytes += answer.body.length
    clock.sawDate(instantOf(answer.headers.date), sought.now())
    const statuses = readAs(Statuses, answer, { network: host, secrets: [] })
    const fresh = statuses.filter(({ id }) => !seen.has(id))
    await take(fresh, seen, clock, sought)
    const oldest = fresh.at(-1)
    if (!oldest && (statuses.length >= PerhapsCutOff || statuses.length === PageSize)) break
    if (!oldest) return readOf(seen, clock, true)
    if (isFarEnough(clock, seen.get(oldest.id)!)) return readOf(seen, clock, true)
    page = `${url}?limit=${PageSize}&max_id=${encodeURIComponent(oldest.id)}`
  }
  const isOnlyUnsettled = clock.isBefore([...seen.values()].at(-1)!.status.created_at)
  if (isOnlyUnsettled) return readOf(seen, clock, false)
  throw new PublishError('unknown', `${host} does not show all of the account's posts.`, { code: 'cannot_be_listed' })
}

async function take(fresh: Status[], seen: Map<string, Seen>, clock: NetworkClock, { since, recorded }: Sought) {
  const ofOthers = await recorded(fresh.map(({ id }) => id))
  let isBehindRecorded = [...seen.values()].at(-1)?.isBehindRecorded ?? false
  for (const status of fresh) {
    const known = ofOthers.get(status.id)
    if (known) clock.sawRecorded(status.created_at, known)
    if (known && known.recordedAt < since) isBehindRecorded = true
    seen.set(status.id, { status, isRecorded: known !== undefined, isBehindRecorded })
  }
}

function isFarEnough(clock: NetworkClock, { status, isBehindRecorded }: Seen): boolean {
  return clock.isBefore(status.created_at) && (isBehindRecorded || clock.isSettled())
}

function readOf(seen: Map<string, Seen>, clock: NetworkClock, isComplete: boolean): Read {
  const isSurelyOlder = ({ status, isBehindRecorded }: Seen) =>
    clock.isBefore(status.created_at) &&
    ((isBehindRecorded && clock.isSteady()) || (clock.isSettled() && clock.isItsOwn()))
  const dated = [...seen.values()]
    .filter((one) => !one.isRecorded && !isSurelyOlder(one))
    .map((one): Dated => ({ ...one.status, age: ageOf(one, clock) }))
  return { statuses: dated, isComplete }
}

// Servers make ids from their clock. After it was set back, they list newer statuses behind older ones. So the position
// in the list proves nothing. It only makes a status doubtful, if the clock does not date it after the send.
function ageOf({ status: { created_at: at }, isBehindRecorded }: Seen, clock: NetworkClock): Dated['age'] {
  if (clock.isSettled() && clock.isBefore(at)) return 'older'
  return clock.isDoubtful(at) || (isBehindRecorded && !clock.isAfter(at)) ? 'doubtful' : 'younger'
}
