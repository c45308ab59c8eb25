import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import type { Answer } from '../../outbound/outbound.ts'
import { type Other, type Publication, PublishError, type Sought, Unclear } from '../network.ts'
import { bodyOf } from '../verdict.ts'
import { type Prepared, rivalryWith } from './rivals.ts'
import { type Match, matchOf, type OwnText, ownText, type ShownText, shownText } from './same-text.ts'
import { type Dated, type Get, readBack } from './statuses.ts'

const SourcesAtMost = 20 // that one reading asks for
const CandidatesAtMost = 40 // that we compare with other deliveries: if more are contested, we can't tell them apart
const Source = z.object({ text: z.string() })

/** What was sent for the delivery `sought`. */
type Sent = { instance: string; accountId: string; connectedAheadMs: number | null; prepared: Prepared }

/**
 * `parse` reads what was prepared. `get` calls a URL as the account. `refusal` is the verdict on an answer that is not
 * a success. `signal` ends the reading.
 */
type Access = {
  parse: (prepared: unknown) => Prepared
  get: Get
  refusal: (answer: Answer) => PublishError
  signal: AbortSignal
}

/** A status that may be ours, with its source if there is one, and how well it matches ours. */
type Candidate = { status: Dated; match: Match }

/**
 * Look for our status among the account's statuses. If several have our text, we take the oldest.
 *
 * A status proves nothing if its text is only like ours, if it may be older than ours, or if another delivery may have
 * sent it: Unclear. Throws PublishError `unknown` if we can't read the statuses.
 */
export async function findStatus(sent: Sent, sought: Sought, access: Access): Promise<Publication | Unclear | null> {
  const { instance, accountId, connectedAheadMs, prepared } = sent
  const host = new URL(instance).host
  const url = `${instance}/api/v1/accounts/${encodeURIComponent(accountId)}/statuses`
  const page: Get = async (address) => succeeded(await access.get(address), access)
  const { statuses, isComplete } = await readBack({ url, connectedAheadMs }, sought, page)
  const pause = pauseUntil(access.signal)
  const candidates = await candidatesAmong(statuses.reverse(), prepared, sourceFrom(instance, access), pause)
  const found =
    candidates.length > 0 ? await oursAmong(candidates, { host, own: prepared }, await sought.others(), access) : null
  if (found) return found
  return isComplete ? null : new Unclear(`We can't tell from the clock of ${host} which posts are older than this one.`)
}

/** The first that no other delivery can have sent. Unclear if none of them proves anything. */
async function oursAmong(
  candidates: Candidate[],
  { host, own }: { host: string; own: Prepared },
  others: Other[] | null,
  { parse, signal }: Access,
) {
  const pause = pauseUntil(signal)
  const rivalryOf = rivalryWith(others, parse, pause)
  let contested: Candidate | null = null
  for (const candidate of candidates.slice(0, CandidatesAtMost)) {
    const isOurs = isSurelyOurs(candidate)
    if (contested && !isOurs) break
    await pause()
    const { status, match } = candidate
    const shown = shownText(status, own.text.length)
    const rivalry = await rivalryOf({ shown, files: status.media_attachments.length, match }, !isOurs)
    if (rivalry === 'under way') throw stillSending()
    if (isOurs && rivalry === 'none') return publicationOf(status)
    contested ??= candidate
  }
  return new Unclear(`We found a post on ${host} that may be this one.`, publicationOf(contested!.status).url)
}

/** It is ours, unless another delivery may have sent it too. */
function isSurelyOurs({ match, status }: Candidate): boolean {
  return match === 'same' && status.age === 'younger'
}

function succeeded(answer: Answer, { refusal }: Access): Answer {
  if (!answer.ok) throw refusal(answer)
  return answer
}

function publicationOf({ id, url, uri }: Dated) {
  return { remoteId: id, url: url ?? uri }
}

function stillSending(): PublishError {
  const message = 'A similar post is being sent on this channel.'
  return new PublishError('unknown', message, { code: 'cannot_be_listed' })
}

// A list of strange statuses must not block the process.
function pauseUntil(signal: AbortSignal): () => Promise<void> {
  return async () => {
    await turn()
    signal.throwIfAborted()
  }
}

/** The statuses that may be ours, the most likely first. */
async function candidatesAmong(
  statuses: Dated[],
  { text, media_ids }: Prepared,
  sourceOf: (id: string) => Promise<string | null>,
  pause: () => Promise<void>,
): Promise<Candidate[]> {
  const own = await ownText(text)
  const candidates: Candidate[] = []
  for (const listed of statuses.filter(({ reblog }) => !reblog)) {
    const status = listed.text || listed.age === 'older' ? listed : { ...listed, text: await sourceOf(listed.id) }
    await pause()
    const isOurNumber = status.media_attachments.length === media_ids.length
    const match = matchWithFiles(own, shownText(status, text.length), isOurNumber)
    if (match === 'same' || (match === 'like' && status.age !== 'older')) candidates.push({ status, match })
  }
  return candidates.sort((a, b) => rankOf(a) - rankOf(b))
}

/** A status with our text, or one like it, may be ours with another number of files. With another text it is not. */
function matchWithFiles(own: OwnText, shown: ShownText, isOurNumber: boolean): Match {
  const match = matchOf(own, shown)
  if (isOurNumber || match === 'other') return match
  const isOfFiles = own.squeezed === '' // we can compare only their number
  return isOfFiles && match === 'like' ? 'other' : 'like'
}

function rankOf(candidate: Candidate): number {
  if (candidate.match === 'like') return 2
  return isSurelyOurs(candidate) ? 0 : 1
}

/** https://docs.joinmastodon.org/methods/statuses/#source. A server without the source of one status has none. */
function sourceFrom(instance: string, access: Access): (id: string) => Promise<string | null> {
  let left = SourcesAtMost
  return async (id) => {
    if (left <= 0) return null
    const answer = await access.get(`${instance}/api/v1/statuses/${encodeURIComponent(id)}/source`)
    if (answer.status === 401 || answer.status === 429) throw access.refusal(answer)
    const source = Source.safeParse(bodyOf(answer))
    left = answer.ok && source.success ? left - 1 : 0
    return answer.ok && source.success ? source.data.text : null
  }
}
