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

/** What a server says of its OAuth. `issuer`: by which it names itself in an answer; `namesIssuer`: it always does. */
export type ServerMetadata = { offersPkce: boolean; issuer: string; namesIssuer: boolean }

/**
 * A server's metadata (RFC 8414). Mastodon has it since 4.3, many others do not. A server is believed what it says of
 * itself alone: an issuer of another origin counts as its own origin (RFC 8414 §3.3).
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
 * The last part of the callback's path for a server: each has a redirect URI of its own, so that no answer of one is taken
 * for another's (RFC 9700 §4.4.2.2). A digest, since servers read an address with a port in its path in different ways.
 */
export function serverKey(instance: string): string {
  return createHash('sha256').update(instance).digest('base64url').slice(0, 22)
}

/** The code in an answer to a flow at `instance`. Throws ConnectError when it is another server's, a refusal or has none. */
export function codeOf(
  { instance, issuer, namesIssuer }: { instance: string; issuer: string; namesIssuer: boolean },
  { server, code, error, iss }: ConsentAnswer,
): string {
  const { host } = new URL(instance)
  const isIssuer = iss === null ? !namesIssuer : withoutSlash(iss) === withoutSlash(issuer)
  if (server !== serverKey(instance) || !isIssuer)
    throw new ConnectError(`The answer did not come from ${host}. Nothing was connected. Connect again.`)
  if (error === 'access_denied') throw new ConnectError(`You did not allow it on ${host}.`)
  if (error) throw new ConnectError(`${host} refused (${error.replace(/\W/g, '').slice(0, 50)}). Connect again.`)
  if (!code) throw new ConnectError(`${host} sent no code. Connect again.`)
  return code
}

// Mastodon writes its origin with a slash.
function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
