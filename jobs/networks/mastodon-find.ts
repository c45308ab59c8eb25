import { z } from 'zod'
import type { Answer } from '../outbound.ts'
import { readAs, WebAddress } from './answers.ts'
import { sameText } from './mastodon-text.ts'
import { type Publication, PublishError } from './network.ts'

const Name = 'Mastodon'
const PageSize = 40 // the most that Mastodon gives
const MostPages = 100
const ClocksApartMs = 5 * 60_000

// snac2 answers its 256 newest whatever `limit` and `max_id` ask for: as many as this may be a list that was cut off.
const PerhapsCutOff = 200

const Statuses = z.array(
  z.object({
    id: z.string(),
    created_at: z.coerce.date(),
    content: z.string(),
    text: z.string().nullish(), // the source, where a server gives it (GoToSocial, snac2)
    url: WebAddress,
    uri: WebAddress,
    reblog: z.unknown(),
    media_attachments: z.array(z.unknown()).default([]),
  }),
)
type Status = z.infer<typeof Statuses>[number]

type Sought = {
  instance: string
  accountId: string
  text: string
  mediaCount: number
  since: Date
  isTaken: (remoteId: string) => Promise<boolean>
}

/**
 * Look for a status of ours among the account's own, newest first, back to five minutes before `since`.
 * https://docs.joinmastodon.org/methods/accounts/#statuses
 *
 * `get` calls a URL as the account and throws PublishError when it is refused. Of several that fit, the oldest is meant.
 * Returns null only after a complete reading; throws PublishError `unknown` when there can be none.
 */
export async function findStatus(
  { instance, accountId, text, mediaCount, since, isTaken }: Sought,
  get: (url: string) => Promise<Answer>,
): Promise<Publication | null> {
  const statuses = await statusesSince(
    new Date(since.getTime() - ClocksApartMs),
    `${instance}/api/v1/accounts/${encodeURIComponent(accountId)}/statuses?limit=${PageSize}`,
    get,
  )
  for (const status of statuses.reverse()) {
    if (status.reblog || status.media_attachments.length !== mediaCount || !sameText(text, status)) continue
    if (!(await isTaken(status.id))) return { remoteId: status.id, url: status.url ?? status.uri }
  }
  return null
}

async function statusesSince(start: Date, url: string, get: (url: string) => Promise<Answer>): Promise<Status[]> {
  const seen = new Map<string, Status>()
  const isInTime = (status: Status) => status.created_at >= start
  let page = url
  for (let pages = 0; pages < MostPages; pages++) {
    const statuses = readAs(Statuses, await get(page), { network: Name, secrets: [] })
    const fresh = statuses.filter((status) => !seen.has(status.id))
    for (const status of fresh) seen.set(status.id, status)
    const oldest = fresh.at(-1)
    if (oldest && isInTime(oldest)) page = `${url}&max_id=${encodeURIComponent(oldest.id)}`
    else if (oldest || statuses.length < PerhapsCutOff) return [...seen.values()].filter(isInTime)
    else break
  }
  throw new PublishError('unknown', `${Name} does not show all of the account's posts.`, { code: 'cannot_be_read' })
}
