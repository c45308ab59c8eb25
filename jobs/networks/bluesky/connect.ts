import { resolveTxt } from 'node:dns/promises'
import { z } from 'zod'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import type { Answer, Outbound } from '../../outbound/outbound.ts'
import { plainName } from '../names.ts'
import { ConnectError, type ConnectedAccount, type Connecting } from '../network.ts'
import { originOf, reaching } from '../origin.ts'
import { bodyOf, RemoteId } from '../verdict.ts'
import { type BlueskyCredential, problemOf, xrpc } from './xrpc.ts'

const Handle = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$/
// https://atproto.com/specs/did. A did:web has only a host, with its port encoded.
const Did = /^did:(plc:[\w.:-]+|web:[\w.-]+(%3[aA]\d+)?)$/

// From app.bsky.feed.post and app.bsky.embed.images. We make images smaller while preparing, if they are too large.
const Limits: ChannelLimits = {
  textLength: 300,
  textUnit: 'graphemes',
  textBytes: 3000,
  mediaCount: 4,
  mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif'],
}

const DidDocument = z.object({
  service: z.array(z.object({ id: z.string(), serviceEndpoint: z.unknown() })).default([]),
})
const Secret = z.string().max(4000)
const Created = z.object({
  did: RemoteId.regex(Did),
  handle: RemoteId,
  accessJwt: Secret,
  refreshJwt: Secret,
})
const Profile = z.object({
  value: z.object({
    displayName: z.string().optional().catch(undefined),
    avatar: z
      .object({ ref: z.object({ $link: RemoteId }) })
      .optional()
      .catch(undefined),
  }),
})

/**
 * `connect` takes `{ handle, appPassword, pds? }`. Without `pds` we find the server from the handle
 * (https://atproto.com/specs/handle#handle-resolution, https://atproto.com/specs/did). The handle may also be a DID.
 */
export function blueskyConnecting(plcUrl: string): Connecting {
  return {
    by: 'form',
    known: ({ credential }) => (typeof credential?.pds === 'string' ? { pds: credential.pds } : {}),
    connect: async ({ handle = '', appPassword = '', pds = '' }, outbound) => {
      const identifier = handle.trim().replace(/^@/, '').toLowerCase()
      if (!Handle.test(identifier) && !Did.test(identifier)) {
        throw new ConnectError('Type the full handle, such as ada.bsky.social.', { field: 'handle' })
      }
      if (!appPassword.trim()) throw new ConnectError('Type an app password.', { field: 'appPassword' })
      if (pds.trim()) return signIn({ identifier, appPassword, pds: originOf(pds, 'pds'), field: 'pds' }, outbound)
      const did = Did.test(identifier) ? identifier : await didOfHandle(identifier, outbound)
      const home = await pdsOfDid(did, plcUrl, outbound)
      return signIn({ identifier: did, appPassword, pds: home, field: 'handle' }, outbound)
    },
  }
}

async function didOfHandle(handle: string, outbound: Outbound): Promise<string> {
  const did = (await didByHttps(handle, outbound)) ?? (await didByDns(handle))
  if (did) return did
  throw new ConnectError(`We found no account for ${handle}. If the handle is right, type its server too.`, {
    field: 'handle',
  })
}

async function didByHttps(handle: string, outbound: Outbound): Promise<string | null> {
  const answer = await outbound.get(`https://${handle}/.well-known/atproto-did`).catch(() => null) // DNS may have it
  const did = answer?.ok ? answer.text().trim() : ''
  return Did.test(did) ? did : null
}

async function didByDns(handle: string): Promise<string | null> {
  const records = await resolveTxt(`_atproto.${handle}`).catch(() => [])
  const dids = records.map((chunks) => chunks.join('')).filter((record) => record.startsWith('did='))
  const did = dids[0]?.slice('did='.length) ?? ''
  return dids.length === 1 && Did.test(did) ? did : null // two or more contradict each other
}

async function pdsOfDid(did: string, plcUrl: string, outbound: Outbound): Promise<string> {
  const [, host] = did.match(/^did:web:(.*)$/) ?? []
  const origin = host ? originOf(decodeURIComponent(host), 'handle') : plcUrl
  const url = host ? `${origin}/.well-known/did.json` : `${origin}/${did}`
  const answer = await reaching(origin, 'handle', () => outbound.get(url))
  const document = DidDocument.safeParse(bodyOf(answer))
  const service = document.data?.service.find(({ id }) => id.endsWith('#atproto_pds'))
  if (answer.ok && typeof service?.serviceEndpoint === 'string') return originOf(service.serviceEndpoint, 'handle')
  throw new ConnectError('We found no server for this account. If the handle is right, type its server too.', {
    field: 'handle',
  })
}

type SignIn = { identifier: string; appPassword: string; pds: string; field: string }

/** https://docs.bsky.app/docs/api/com-atproto-server-create-session */
async function signIn({ identifier, appPassword, pds, field }: SignIn, outbound: Outbound): Promise<ConnectedAccount> {
  const json = { identifier, password: appPassword.trim() }
  const answer = await reaching(pds, field, () =>
    xrpc(outbound, pds, { nsid: 'com.atproto.server.createSession', post: { json } }),
  )
  const created = Created.safeParse(bodyOf(answer))
  if (!answer.ok || !created.success) throw refusalOf(answer, new URL(pds).host, field)
  const { did, handle, accessJwt, refreshJwt } = created.data
  if (identifier.startsWith('did:') && did !== identifier) {
    throw new ConnectError(`${new URL(pds).host} answered for another account. Check the handle and its server.`, {
      field,
    })
  }
  const { name, pictureUrl } = await reaching(pds, field, () => profileOf(did, pds, outbound))
  return {
    remoteAccount: did,
    name: name || plainName(handle) || did,
    handle: `@${plainName(handle)}`,
    url: `https://bsky.app/profile/${did}`,
    pictureUrl,
    limits: Limits,
    credential: { pds, did, handle, accessJwt, refreshJwt } satisfies z.infer<typeof BlueskyCredential>,
  }
}

function refusalOf(answer: Answer, host: string, field: string): ConnectError {
  const problem = problemOf(answer)
  if (problem?.error === 'AuthFactorTokenRequired') {
    return new ConnectError('This account asks for a code from an email. Type an app password instead.', {
      field: 'appPassword',
    })
  }
  if (answer.status === 401) {
    return new ConnectError('The handle or the app password is wrong.', { field: 'appPassword' })
  }
  if (problem) return new ConnectError(`${host} says: ${problem.reason}`, { field })
  return new ConnectError(`${host} does not answer like a Bluesky server (status ${answer.status}).`, { field })
}

/** The account's own profile record. The PDS has it; we need no app view. */
async function profileOf(did: string, pds: string, outbound: Outbound) {
  const query = { repo: did, collection: 'app.bsky.actor.profile', rkey: 'self' }
  const answer = await xrpc(outbound, pds, { nsid: 'com.atproto.repo.getRecord', query })
  const profile = answer.ok ? Profile.safeParse(bodyOf(answer)).data?.value : undefined
  const picture = new URLSearchParams({ did, cid: profile?.avatar?.ref.$link ?? '' })
  return {
    name: plainName(profile?.displayName ?? ''),
    pictureUrl: profile?.avatar ? `${pds}/xrpc/com.atproto.sync.getBlob?${picture}` : null,
  }
}
