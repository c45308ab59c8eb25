import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { Multipart } from '../../outbound/multipart.ts'
import type { Answer } from '../../outbound/outbound.ts'
import {
  type Content,
  type Network,
  type PostMedia,
  type Publication,
  PublishError,
  type Session,
  type Sought,
  type Unclear,
} from '../network.ts'
import { reasonIn } from '../reason.ts'
import { bodyOf, failureOf, RemoteId, readAs, recordOf, WebAddress } from '../verdict.ts'
import { mastodonConnecting, readLimits } from './connect.ts'
import { findStatus } from './find.ts'
import { mastodonRevoking } from './revoke.ts'

const UploadTimeoutMs = 280_000 // a video takes long; preparing may take 5 min in total
const ListBytes = 2 * 1024 * 1024 // 40 statuses of 50 KB, or all 256 of snac2 at 8 KB
const FirstPollMs = 250
const LongestPollMs = 5000

const Credential = z.object({
  instance: z.string(),
  token: z.string(),
  accountId: z.string(),
  clockAheadMs: z.number().optional(), // of ours, when the channel was connected
})
// Without `status`: only files. If an empty text was stored, it counts as none.
const Prepared = z.object({
  status: z
    .string()
    .optional()
    .transform((text) => (text?.trim() ? text : undefined)),
  visibility: z.literal('public'),
  media_ids: z.array(z.string()),
})
const Status = z.object({ id: RemoteId, url: WebAddress, uri: WebAddress })
const Attachment = z.object({ id: RemoteId })

/** Mastodon and other servers with its API. https://docs.joinmastodon.org/methods/statuses/#create */
export const mastodon: Network = {
  name: 'Mastodon',
  serverOf: (remoteAccount) => remoteAccount.slice(0, remoteAccount.lastIndexOf('/')), // host/account id
  repeatedSend: 'readable', // most servers ignore Idempotency-Key: we read the account first, and also send the key
  atOnce: 100,
  verifiedAgainst: 'snac2 2.75',
  connecting: mastodonConnecting,
  // Its lib/text_formatter.rb hides the scheme and all but 30 characters of a link.
  preview: {
    handle: 'below',
    marks: ['link', 'mention', 'hashtag'],
    linkLength: 30,
    linkCard: true,
    media: 'grid',
    textSize: 'normal',
  },
  limits: (session) => readLimits(Credential.parse(session.credential).instance, session),
  prepare,
  send,
  find,
  revoking: mastodonRevoking,
}

// Always public, whatever the account's default is: some servers don't list other posts when we read them back.
async function prepare({ text, media }: Content, _publishKey: string, session: Session): Promise<unknown> {
  const ids: string[] = []
  for (const file of media) ids.push(await upload(file, session)) // one after another, in the order of the post
  return Prepared.parse({ status: text, visibility: 'public', media_ids: ids })
}

async function send(
  { publishKey, prepared }: { publishKey: string; prepared: unknown },
  session: Session,
): Promise<Publication> {
  const { instance, token } = Credential.parse(session.credential)
  const answer = await call('POST', `${instance}/api/v1/statuses`, session, {
    headers: { 'idempotency-key': publishKey },
    json: Prepared.parse(prepared),
  })
  if (!answer.ok) throw failure(answer, session)
  const status = readAs(Status, answer, { network: hostOf(session), secrets: [token] })
  return { remoteId: status.id, url: status.url ?? status.uri, ...recordOf(answer, [token]) }
}

function find(sought: Sought, session: Session): Promise<Publication | Unclear | null> {
  const { instance, accountId, clockAheadMs: connectedAheadMs = null } = Credential.parse(session.credential)
  const parse = (prepared: unknown) => {
    const { status: text = '', media_ids } = Prepared.parse(prepared)
    return { text, media_ids }
  }
  const get = (url: string) => call('GET', url, session, { maxBytes: ListBytes })
  const refusal = (answer: Answer) => failure(answer, session)
  const sent = { instance, accountId, connectedAheadMs, prepared: parse(sought.prepared) }
  return findStatus(sent, sought, { parse, get, refusal, signal: session.signal })
}

/** https://docs.joinmastodon.org/methods/media/#v2. v1 is the same, but answers only when the file is processed. */
async function upload(file: PostMedia, session: Session): Promise<string> {
  const { instance, token } = Credential.parse(session.credential)
  const { mime: type, bytes, stream: open } = file
  const name = `media.${type.split('/')[1]}`
  const multipart = { fields: { description: file.alt }, file: { field: 'file', name, type, bytes, open } }
  const options = { multipart, timeoutMs: UploadTimeoutMs }
  let answer = await call('POST', `${instance}/api/v2/media`, session, options)
  if (answer.status === 404) answer = await call('POST', `${instance}/api/v1/media`, session, options)
  if (!answer.ok) throw failure(answer, session)
  const { id } = readAs(Attachment, answer, { network: hostOf(session), secrets: [token] })
  if (answer.status === 202) await processed(id, session)
  return id
}

// This ends: the session's signal aborts it when preparing has taken too long.
async function processed(id: string, session: Session): Promise<void> {
  const { instance } = Credential.parse(session.credential)
  for (let pauseMs = FirstPollMs; ; pauseMs = Math.min(pauseMs * 2, LongestPollMs)) {
    await wait(pauseMs, undefined, { signal: session.signal })
    const answer = await call('GET', `${instance}/api/v1/media/${encodeURIComponent(id)}`, session)
    if (answer.status === 200) return
    if (answer.status !== 206) throw failure(answer, session)
  }
}

function call(
  method: 'GET' | 'POST',
  url: string,
  { credential, outbound, signal }: Session,
  options: { headers?: Record<string, string>; json?: unknown; multipart?: Multipart } & Limits = {},
): Promise<Answer> {
  const headers = { ...options.headers, authorization: `Bearer ${Credential.parse(credential).token}` }
  return outbound.request(method, url, { ...options, headers, signal })
}

type Limits = { timeoutMs?: number; maxBytes?: number }

function failure(answer: Answer, session: Session): PublishError {
  const { token } = Credential.parse(session.credential)
  const host = hostOf(session)
  const reason = reasonIn(bodyOf(answer))
  // If a token has lost its scope, the server answers 403, not 401.
  if (answer.status === 403 && /scope/i.test(`${answer.headers['www-authenticate']} ${reason}`)) {
    return new PublishError('reconnect', `${host} no longer allows this connection to post.`, recordOf(answer, [token]))
  }
  return failureOf(answer, { network: host, reason, secrets: [token] })
}

/** The server's name for people. */
function hostOf({ credential }: Session): string {
  return new URL(Credential.parse(credential).instance).host
}
