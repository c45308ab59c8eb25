import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Outbound } from '../../outbound/outbound.ts'
import { ConnectError, type ConsentAnswer } from '../network.ts'
import { bodyOf } from '../verdict.ts'

const Metadata = z.object({
  issuer: z.string().optional().catch(undefined),
  code_challenge_methods_supported: z.array(z.string()).catch([]),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
})

/** What a server says about its OAuth. `issuer`: its name for itself in answers. `namesIssuer`: all answers have it. */
export type ServerMetadata = { offersPkce: boolean; issuer: string; namesIssuer: boolean }

/**
 * Read a server's metadata (RFC 8414). Mastodon has it since 4.3, many others do not. We believe a server only about
 * itself: if the issuer has another origin, we use the server's own origin (RFC 8414 §3.3).
 */
export async function metadataOf(instance: string, outbound: Outbound): Promise<ServerMetadata> {
  const answer = await outbound.get(`${instance}/.well-known/oauth-authorization-server`)
  const { success, data } = Metadata.safeParse(bodyOf(answer))
  if (!answer.ok || !success) return { offersPkce: false, issuer: instance, namesIssuer: false }
  const { issuer = instance, code_challenge_methods_supported: methods } = data
  return {
    offersPkce: methods.includes('S256'),
    issuer: URL.parse(issuer)?.origin === instance ? issuer : instance,
    namesIssuer: data.authorization_response_iss_parameter_supported === true,
  }
}

/**
 * The last part of the callback's path for a server. Each server has its own redirect URI, so that we can't mistake one
 * server's answer for another's (RFC 9700 §4.4.2.2). A digest: servers parse a host with a port in a path differently.
 */
export function serverKey(instance: string): string {
  return createHash('sha256').update(instance).digest('base64url').slice(0, 22)
}

/** The code in the answer of `instance`. Throws ConnectError if it is another server's, a refusal, or has none. */
export function codeOf(
  { instance, issuer, namesIssuer }: { instance: string; issuer: string; namesIssuer: boolean },
  { server, code, error, iss }: ConsentAnswer,
): string {
  const { host } = new URL(instance)
  const isIssuer = iss === null ? !namesIssuer : withoutSlash(iss) === withoutSlash(issuer)
  if (server !== serverKey(instance) || !isIssuer)
    throw new ConnectError(`The answer did not come from ${host}. Nothing was connected. Connect again.`)
  if (error === 'access_denied') throw new ConnectError(`You did not approve the connection on ${host}.`)
  if (error)
    throw new ConnectError(`${host} refused the connection (${error.replace(/\W/g, '').slice(0, 50)}). Connect again.`)
  if (!code) throw new ConnectError(`${host} sent no code. Connect again.`)
  return code
}

// Mastodon ends its origin with a slash.
function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
