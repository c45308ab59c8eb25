import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { ChannelLimits } from '../../db/schema.ts'
import type { Answer, Outbound } from '../outbound.ts'
import { bodyOf, instantOf, plainReason, RemoteId, WebAddress } from './answers.ts'
import { ConnectError, type ConnectedAccount, type Connecting } from './network.ts'
import { originOf, reaching } from './origin.ts'

const Field = 'instance'
const Scopes = 'read:accounts read:statuses write:media write:statuses'
const CharactersOfALink = 23
const NameLength = 200
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
  clientId: z.string(),
  clientSecret: z.string(),
  verifier: z.string().nullable(), // null: the server offers no PKCE
})
const Secret = z.string().max(4000)
const App = z.object({ client_id: RemoteId, client_secret: Secret })
const Metadata = z.object({ code_challenge_methods_supported: z.array(z.string()) })
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
  max_toot_chars: count, // Pleroma, and what v1 was before it had a configuration
})

/**
 * `begin` takes `{ instance }`, registers us there and answers the consent page; `finish` swaps the code for a token.
 * https://docs.joinmastodon.org/methods/apps/#create, https://docs.joinmastodon.org/methods/oauth/
 */
export const mastodonConnecting: Connecting = {
  by: 'redirect',
  begin: async (input, way) => {
    const instance = originOf(input.instance ?? '', Field)
    return reaching(instance, Field, () => begin(instance, way))
  },
  finish: async (kept, way) => {
    const flow = Kept.parse(kept)
    return reaching(flow.instance, null, () => finish(flow, way))
  },
}

async function begin(
  instance: string,
  { redirectUri, state, outbound }: { redirectUri: string; state: string; outbound: Outbound },
): Promise<{ url: string; kept: unknown }> {
  const app = await register(instance, redirectUri, outbound)
  const verifier = (await offersPkce(instance, outbound)) ? randomBytes(32).toString('base64url') : null
  const url = new URL('/oauth/authorize', instance)
  url.searchParams.set('response_type', 'code')
  url.searchParams.set('client_id', app.client_id)
  url.searchParams.set('redirect_uri', redirectUri)
  url.searchParams.set('scope', Scopes)
  url.searchParams.set('state', state)
  if (verifier) {
    url.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'))
    url.searchParams.set('code_challenge_method', 'S256')
  }
  const kept = { instance, clientId: app.client_id, clientSecret: app.client_secret, verifier }
  return { url: url.href, kept: kept satisfies z.infer<typeof Kept> }
}

async function register(instance: string, redirectUri: string, outbound: Outbound): Promise<z.infer<typeof App>> {
  const answer = await outbound.post(`${instance}/api/v1/apps`, {
    form: new URLSearchParams({ client_name: 'Punctual', redirect_uris: redirectUri, scopes: Scopes }),
  })
  const host = new URL(instance).host
  const elsewhere = answer.headers.location
  if (answer.status >= 300 && answer.status < 400 && elsewhere && URL.canParse(elsewhere, instance)) {
    const there = new URL(elsewhere, instance)
    throw new ConnectError(`${host} sends us on to ${there.host}. Type ${there.origin} if that is your server.`, {
      field: Field,
    })
  }
  const app = App.safeParse(bodyOf(answer))
  if (answer.ok && app.success) return app.data
  throw new ConnectError(`${host} does not answer like a Mastodon server (status ${answer.status}).`, { field: Field })
}

/** RFC 8414. Mastodon has it since 4.3, many others do not. */
async function offersPkce(instance: string, outbound: Outbound): Promise<boolean> {
  const answer = await outbound.get(`${instance}/.well-known/oauth-authorization-server`)
  const metadata = Metadata.safeParse(bodyOf(answer))
  return answer.ok && metadata.success && metadata.data.code_challenge_methods_supported.includes('S256')
}

async function finish(
  { instance, clientId, clientSecret, verifier }: z.infer<typeof Kept>,
  { redirectUri, code, outbound }: { redirectUri: string; code: string; outbound: Outbound },
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
  const { access_token: token } = parsed(Token, await outbound.post(`${instance}/oauth/token`, { form }), host)
  const headers = { authorization: `Bearer ${token}` }
  const own = await outbound.get(`${instance}/api/v1/accounts/verify_credentials`, { headers })
  const account = parsed(Account, own, host)
  return {
    remoteAccount: `${host}/${account.id}`,
    name: account.display_name?.slice(0, NameLength) || account.username,
    handle: `@${account.username}@${host}`,
    url: account.url,
    pictureUrl: account.avatar_static ?? account.avatar,
    limits: await limitsOf(instance, outbound),
    credential: { instance, token, accountId: account.id, ...clockOf(own) },
  }
}

// The first post of a channel is looked for by it, when nothing else shows what the server's clock said before.
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

/** https://docs.joinmastodon.org/methods/instance/; not every server has v2, and some have no limits at all. */
async function limitsOf(instance: string, outbound: Outbound): Promise<ChannelLimits> {
  const { configuration, max_toot_chars } =
    (await instanceOf(`${instance}/api/v2/instance`, outbound)) ??
    (await instanceOf(`${instance}/api/v1/instance`, outbound)) ??
    {}
  const { statuses, media_attachments: media } = configuration ?? {}
  const types = media?.supported_mime_types?.length ? media.supported_mime_types : OurMediaTypes.slice(0, 4)
  return {
    textLength: statuses?.max_characters ?? max_toot_chars ?? 500,
    textUnit: 'characters',
    urlsCountAs: statuses?.characters_reserved_per_url ?? CharactersOfALink,
    mediaCount: statuses?.max_media_attachments ?? 4,
    mediaTypes: OurMediaTypes.filter((type) => types.includes(type)),
    ...(media?.image_size_limit ? { mediaBytes: media.image_size_limit } : {}),
    ...(media?.video_size_limit ? { videoBytes: media.video_size_limit } : {}),
    ...(media?.description_limit ? { altLength: media.description_limit } : {}),
  }
}

async function instanceOf(url: string, outbound: Outbound): Promise<z.infer<typeof Instance> | null> {
  const answer = await outbound.get(url)
  const instance = Instance.safeParse(bodyOf(answer))
  return answer.ok && instance.success ? instance.data : null
}
