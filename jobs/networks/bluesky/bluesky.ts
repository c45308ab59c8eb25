import { z } from 'zod'
import type { Answer } from '../../outbound/outbound.ts'
import {
  type Credential,
  type Network,
  type Publication,
  PublishError,
  type Revoking,
  type Session,
} from '../network.ts'
import { reaching } from '../origin.ts'
import { failureOf, RemoteId, readAs, recordOf } from '../verdict.ts'
import { blueskyConnecting } from './connect.ts'
import { PostCollection, postRecord } from './record.ts'
import { mintTid } from './tid.ts'
import { BlueskyCredential, type Method, problemOf, xrpc } from './xrpc.ts'

const Name = 'Bluesky'
const NoLonger = `${Name} no longer accepts this connection.`

const Prepared = z.record(z.string(), z.unknown())
const Put = z.object({ uri: RemoteId.startsWith('at://') })
const Refreshed = z.object({ accessJwt: z.string(), refreshJwt: z.string(), handle: z.string() })

// The server answers these with 400, not with 401.
const DeadTokens = new Set(['ExpiredToken', 'InvalidToken', 'AuthMissing'])
const ClosedAccounts = new Set(['AccountTakedown', 'AccountSuspended', 'AccountDeactivated', 'AccountNotFound'])

/** Bluesky and any other PDS of the AT Protocol. https://docs.bsky.app/docs/api/com-atproto-repo-put-record */
export function bluesky(plcUrl: string): Network {
  return {
    name: Name,
    repeatedSend: 'keyed', // the same record under the same key is the same post
    atOnce: 100,
    verifiedAgainst: 'the PDS of @atproto/dev-env 0.6.7',
    connecting: blueskyConnecting(plcUrl),
    // We send no card of a link (record.ts), and the app shows the text of a link as it is.
    preview: { handle: 'beside', marks: ['link', 'mention', 'hashtag'], media: 'grid', textSize: 'normal' },
    mintPublishKey: mintTid,
    prepare: (content, _publishKey, session) => postRecord(content, (method) => ask(method, session)),
    send,
    refresh,
    revoking: { isSame: (one, other) => one.refreshJwt === other.refreshJwt, revoke },
  }
}

async function send(
  { publishKey, prepared }: { publishKey: string; prepared: unknown },
  session: Session,
): Promise<Publication> {
  const { did, accessJwt } = BlueskyCredential.parse(session.credential)
  const json = { repo: did, collection: PostCollection, rkey: publishKey, record: Prepared.parse(prepared) }
  const answer = await ask({ nsid: 'com.atproto.repo.putRecord', post: { json } }, session)
  const { uri } = readAs(Put, answer, { network: Name, secrets: [accessJwt] })
  const url = `https://bsky.app/profile/${did}/post/${publishKey}` // by DID: a handle may change
  return { remoteId: uri, url, ...recordOf(answer, [accessJwt]) }
}

/** Call the account's PDS as the account. Throws PublishError unless it answers with success. */
async function ask(method: Method, { credential, outbound, signal }: Session): Promise<Answer> {
  const { pds, accessJwt } = BlueskyCredential.parse(credential)
  const answer = await xrpc(outbound, pds, method, { token: accessJwt, signal })
  if (!answer.ok) throw failureOn(answer, [accessJwt])
  return answer
}

/** https://docs.bsky.app/docs/api/com-atproto-server-refresh-session. A refresh token works once. */
async function refresh(credential: Credential, { outbound, signal }: Omit<Session, 'credential'>): Promise<Credential> {
  const old = BlueskyCredential.parse(credential)
  const secrets = [old.accessJwt, old.refreshJwt]
  const method = { nsid: 'com.atproto.server.refreshSession', post: {} }
  const answer = await xrpc(outbound, old.pds, method, { token: old.refreshJwt, signal })
  if (answer.ok) return { ...old, ...readAs(Refreshed, answer, { network: Name, secrets }) }
  const failure = failureOn(answer, secrets)
  // No post depends on this answer. Any refusal means that the token is dead. An unknown answer may pass.
  if (failure.verdict === 'refused') throw new PublishError('reconnect', NoLonger, recordOf(answer, secrets))
  if (failure.verdict === 'unknown') throw new PublishError('later', failure.message, recordOf(answer, secrets))
  throw failure
}

/** https://docs.bsky.app/docs/api/com-atproto-server-delete-session. The access token works for up to 2 more hours. */
const revoke: Revoking['revoke'] = async (credential, { outbound, signal }) => {
  const { pds, accessJwt, refreshJwt } = BlueskyCredential.parse(credential)
  const method = { nsid: 'com.atproto.server.deleteSession', post: {} }
  const answer = await reaching(pds, null, () => xrpc(outbound, pds, method, { token: refreshJwt, signal }))
  if (answer.ok || DeadTokens.has(problemOf(answer)?.error ?? '')) return
  const { verdict } = failureOn(answer, [accessJwt, refreshJwt])
  const isFinal = verdict === 'refused' || verdict === 'reconnect'
  const message = `${new URL(pds).host} did not revoke our access (status ${answer.status}).`
  throw new PublishError(isFinal ? 'refused' : 'later', message)
}

function failureOn(answer: Answer, secrets: string[]): PublishError {
  const problem = answer.status < 500 ? problemOf(answer) : null
  if (problem && DeadTokens.has(problem.error)) {
    return new PublishError('reconnect', NoLonger, recordOf(answer, secrets))
  }
  if (problem && ClosedAccounts.has(problem.error)) {
    return new PublishError('reconnect', `${Name} says that this account is closed.`, recordOf(answer, secrets))
  }
  return failureOf(answer, { network: Name, reason: problem?.reason ?? null, secrets })
}
