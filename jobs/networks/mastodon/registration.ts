import { z } from 'zod'
import type { Answer, Outbound } from '../../outbound/outbound.ts'
import { type ConnectAccess, ConnectError } from '../network.ts'
import { bodyOf, RemoteId } from '../verdict.ts'

/** The scopes that we ask for. */
export const Scopes = 'read:accounts read:statuses write:media write:statuses'

const Secret = z.string().max(4000)
const App = z.object({ client_id: RemoteId, client_secret: Secret })
const Problem = z.object({ error: z.string() })
const Registration = z.object({
  clientId: z.string(),
  clientSecret: z.string(),
  redirectUri: z.string(),
  scopes: z.string(),
})

/** Our app at a server. */
export type Client = Pick<z.infer<typeof Registration>, 'clientId' | 'clientSecret'>

/**
 * Our app at `instance`: the stored one. We register a new one if there is none, if it has another redirect URI or
 * other scopes, or if the server refuses it. `field` is the form's. https://docs.joinmastodon.org/methods/apps/#create
 */
export async function registrationAt(
  instance: string,
  redirectUri: string,
  field: string,
  { outbound, registrations }: ConnectAccess,
): Promise<Client> {
  const { data: kept } = Registration.safeParse(await registrations.of(instance))
  const isRight = kept?.redirectUri === redirectUri && kept.scopes === Scopes
  if (isRight && !(await isRefused(instance, kept, outbound))) return kept
  const client = await register(instance, redirectUri, field, outbound)
  await registrations.keep(instance, { ...client, redirectUri, scopes: Scopes })
  return client
}

/** Whether a token endpoint does not know the client (RFC 6749 §5.2). */
export function isUnknownClient(answer: Answer): boolean {
  return answer.status === 401 || Problem.safeParse(bodyOf(answer)).data?.error === 'invalid_client'
}

// A consent page shows such a refusal only to the person. So we ask the token endpoint, for a token of the app itself,
// without an account. A server without this grant says so only to a client that it knows, or its answer leaves it open.
async function isRefused(instance: string, { clientId, clientSecret }: Client, outbound: Outbound): Promise<boolean> {
  const grant = { grant_type: 'client_credentials', scope: 'read:statuses' }
  const form = new URLSearchParams({ ...grant, client_id: clientId, client_secret: clientSecret })
  return isUnknownClient(await outbound.post(`${instance}/oauth/token`, { form }))
}

async function register(instance: string, redirectUri: string, field: string, outbound: Outbound): Promise<Client> {
  const answer = await outbound.post(`${instance}/api/v1/apps`, {
    form: new URLSearchParams({ client_name: 'Punctual', redirect_uris: redirectUri, scopes: Scopes }),
  })
  const host = new URL(instance).host
  const elsewhere = answer.headers.location
  if (answer.status >= 300 && answer.status < 400 && elsewhere && URL.canParse(elsewhere, instance)) {
    const there = new URL(elsewhere, instance)
    throw new ConnectError(`${host} redirects to ${there.host}. If that is your server, type ${there.origin}.`, {
      field,
    })
  }
  const app = App.safeParse(bodyOf(answer))
  if (answer.ok && app.success) return { clientId: app.data.client_id, clientSecret: app.data.client_secret }
  throw new ConnectError(`${host} does not answer like a Mastodon server (status ${answer.status}).`, { field })
}
