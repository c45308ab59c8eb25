import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import type { Answer, Outbound } from '../../outbound/outbound.ts'
import { plainName } from '../names.ts'
import {
  type ConnectAccess,
  ConnectError,
  type ConnectedAccount,
  type Connecting,
  type ConsentRequest,
  type Session,
} from '../network.ts'
import { originOf, reaching } from '../origin.ts'
import { bodyOf, instantOf, plainReason, RemoteId, WebAddress } from '../verdict.ts'
import { codeOf, metadataOf, serverKey } from './consent.ts'
import { isMastodon, linkCounting, Software } from './counting.ts'
import { isUnknownClient, registrationAt, Scopes } from './registration.ts'

const Field = 'instance'
const OurMediaTypes = [
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'video/quicktime',
]

const Kept = z.object({
  instance: z.string(),
  issuer: z.string(),
  namesIssuer: z.boolean(),
  redirectUri: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  verifier: z.string().nullable(), // null: the server offers no PKCE
})
const Secret = z.string().max(4000)
const Token = z.object({ access_token: Secret })
const Account = z.object({
  id: RemoteId,
  username: RemoteId,
  display_name: z.string().nullish(),
  url: WebAddress,
  avatar: WebAddress,
  avatar_static: WebAddress,
})
const count = z.number().int().positive().optional().catch(undefined)
const Instance = z.object({
  ...Software,
  configuration: z
    .object({
      statuses: z
        .object({ max_characters: count, max_media_attachments: count, characters_reserved_per_url: count })
        .optional()
        .catch(undefined),
      media_attachments: z
        .object({
          supported_mime_types: z.array(z.string()).optional().catch(undefined),
          image_size_limit: count,
          video_size_limit: count,
          description_limit: count,
        })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  max_toot_chars: count, // Pleroma, and v1 before it had a configuration
})

/**
 * `begin` takes `{ instance }`, registers us there and returns the consent page. `finish` gets a token for the code.
 * https://docs.joinmastodon.org/methods/apps/#create, https://docs.joinmastodon.org/methods/oauth/
 */
export const mastodonConnecting: Connecting = {
  by: 'redirect',
  known: ({ credential, remoteAccount }, servers) => {
    const [host] = remoteAccount.split('/')
    const server = credential?.instance ?? servers.find((origin) => new URL(origin).host === host) ?? host
    return { instance: String(server) }
  },
  begin: async (input, request, access) => {
    const instance = originOf(input.instance ?? '', Field)
    return reaching(instance, Field, () => begin(instance, request, access))
  },
  finish: async (kept, answer, access) => {
    const { success, data: flow } = Kept.safeParse(kept)
    if (!success) throw new ConnectError('This connection was started with an older version. Connect again.')
    const code = codeOf(flow, answer)
    return reaching(flow.instance, null, () => finish(flow, code, access))
  },
}

async function begin(
  instance: string,
  { redirectUri: base, state }: ConsentRequest,
  access: ConnectAccess,
): Promise<{ url: string; kept: z.infer<typeof Kept> }> {
  const redirectUri = `${base}/${serverKey(instance)}`
  const { clientId, clientSecret } = await registrationAt(instance, redirectUri, Field, access)
  const { offersPkce, issuer, namesIssuer } = await metadataOf(instance, access.outbound)
  const verifier = offersPkce ? randomBytes(32).toString('base64url') : null
  const url = new URL('/oauth/authorize', instance)
  url.searchParams.set('response_type', 'code')
  url.searchParams.set('client_id', clientId)
  url.searchParams.set('redirect_uri', redirectUri)
  url.searchParams.set('scope', Scopes)
  url.searchParams.set('state', state)
  if (verifier) {
    url.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'))
    url.searchParams.set('code_challenge_method', 'S256')
  }
  return { url: url.href, kept: { instance, issuer, namesIssuer, redirectUri, clientId, clientSecret, verifier } }
}

async function finish(
  { instance, redirectUri, clientId, clientSecret, verifier }: z.infer<typeof Kept>,
  code: string,
  { outbound, registrations }: ConnectAccess,
): Promise<ConnectedAccount> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uri: redirectUri,
    scope: Scopes,
  })
  if (verifier) form.set('code_verifier', verifier)
  const host = new URL(instance).host
  const answer = await outbound.post(`${instance}/oauth/token`, { form })
  if (isUnknownClient(answer)) await registrations.forget(instance) // the next try registers again
  const { access_token: token } = parsed(Token, answer, host)
  const headers = { authorization: `Bearer ${token}` }
  const own = await outbound.get(`${instance}/api/v1/accounts/verify_credentials`, { headers })
  const account = parsed(Account, own, host)
  return {
    remoteAccount: `${host}/${account.id}`,
    name: plainName(account.display_name ?? '') || plainName(account.username) || host,
    handle: `@${plainName(account.username)}@${host}`,
    url: account.url,
    pictureUrl: account.avatar_static ?? account.avatar,
    limits: await limitsOf(instance, outbound),
    credential: { instance, token, accountId: account.id, clientId, clientSecret, ...clockOf(own) },
  }
}

// We need this to look for a channel's first post, if nothing else shows what the server's clock said before.
function clockOf(answer: Answer): { clockAheadMs?: number } {
  const date = instantOf(answer.headers.date)
  return date === null ? {} : { clockAheadMs: date - Date.now() }
}

function parsed<T extends z.ZodType>(schema: T, answer: Answer, host: string): z.infer<T> {
  const body = bodyOf(answer)
  const result = schema.safeParse(body)
  if (answer.ok && result.success) return result.data
  const problem = z.object({ error_description: z.string() }).safeParse(body)
  const said = problem.success ? ` It says: ${plainReason(problem.data.error_description)}` : ''
  throw new ConnectError(`${host} did not complete the connection (status ${answer.status}). Connect again.${said}`)
}

/** https://docs.joinmastodon.org/methods/instance/. Not every server has v2, and some publish no limits. */
async function limitsOf(instance: string, outbound: Outbound): Promise<ChannelLimits> {
  return limitsFrom(
    (await instanceOf(`${instance}/api/v2/instance`, outbound)) ??
      (await instanceOf(`${instance}/api/v1/instance`, outbound)) ??
      {},
  )
}

/**
 * Read the limits of a server again. We ask v1 only if there is no v2. Null if the server does not say how long a text
 * may be. Throws if the server has an error.
 */
export async function readLimits(instance: string, { outbound, signal }: Asking): Promise<ChannelLimits | null> {
  const newer = await outbound.get(`${instance}/api/v2/instance`, { signal })
  const isOld = newer.status === 404 || newer.status === 410
  const answer = isOld ? await outbound.get(`${instance}/api/v1/instance`, { signal }) : newer
  if (!answer.ok) throw new Error(`The server answered ${answer.status} when we asked for its limits.`)
  const said = Instance.safeParse(bodyOf(answer))
  if (!said.success) return null
  const { configuration, max_toot_chars } = said.data
  return (configuration?.statuses?.max_characters ?? max_toot_chars) ? limitsFrom(said.data) : null
}

type Asking = Pick<Session, 'outbound' | 'signal'>

function limitsFrom({ configuration, max_toot_chars, ...software }: z.infer<typeof Instance>): ChannelLimits {
  const { statuses, media_attachments: media } = configuration ?? {}
  const types = media?.supported_mime_types?.length ? media.supported_mime_types : OurMediaTypes.slice(0, 4)
  return {
    textLength: statuses?.max_characters ?? max_toot_chars ?? 500,
    textUnit: 'characters',
    ...linkCounting(software, statuses?.characters_reserved_per_url),
    mediaCount: statuses?.max_media_attachments ?? 4,
    mediaTypes: OurMediaTypes.filter((type) => types.includes(type)),
    ...(media?.image_size_limit ? { mediaBytes: media.image_size_limit } : {}),
    ...(media?.video_size_limit ? { videoBytes: media.video_size_limit } : {}),
    // Mastodon's post_status_service refuses a video beside other files. Other servers with its API mostly take both.
    ...(isMastodon(software) ? { videoAlone: true } : {}),
    ...(media?.description_limit ? { altLength: media.description_limit } : {}),
  }
}

async function instanceOf(url: string, outbound: Outbound): Promise<z.infer<typeof Instance> | null> {
  const answer = await outbound.get(url)
  const instance = Instance.safeParse(bodyOf(answer))
  return answer.ok && instance.success ? instance.data : null
}
