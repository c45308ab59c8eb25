import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { Callback } from '../flow.ts'

const scopes = ['channels:read', 'posts:read']

/** oidc-provider on loopback with two clients, as the reference. `aCode` is a code as it would give after consent. */
export async function startProvider() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = (client_id: string, client_secret: string, more: object = {}) => ({
    ...{ client_id, client_secret, redirect_uris: [Callback], response_types: ['code'] as const },
    ...{ grant_types: ['authorization_code'], scope: scopes.join(' '), ...more },
  })
  const provider = new Provider(url, {
    clients: [
      // biome-ignore lint/suspicious/noExplicitAny: its type for response_types cannot be written as a literal
      ...([client('app', 'secret', { token_endpoint_auth_method: 'client_secret_post' })] as any[]),
      // biome-ignore lint/suspicious/noExplicitAny: as above
      ...([client('basic', 'secret'), client('other', 'secret')] as any[]),
    ],
    scopes,
    features: {
      ...{ introspection: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: false } },
    },
    pkce: { required: () => false },
    ttl: { AccessToken: 3600, AuthorizationCode: 600, Grant: 3600, Interaction: 600, Session: 3600 },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    renderError: (ctx, out) => {
      ctx.type = 'html'
      ctx.body = out.error
    },
  })
  server.on('request', provider.callback())
  const grantTo = async (clientId: string) => {
    const grant = new provider.Grant({ accountId: 'ada', clientId })
    grant.addOIDCScope(scopes.join(' '))
    return grant.save()
  }
  return {
    url,
    async aCode(
      clientId: string,
      more: { codeChallenge?: string; codeChallengeMethod?: string } = {},
    ): Promise<string> {
      const found = (await provider.Client.find(clientId))!
      const code = new provider.AuthorizationCode({
        ...{ accountId: 'ada', client: found, grantId: await grantTo(clientId), gty: 'authorization_code' },
        ...{ redirectUri: Callback, scope: scopes.join(' '), ...more },
      } as ConstructorParameters<typeof provider.AuthorizationCode>[0])
      return code.save()
    },
    async end() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export type Reference = Awaited<ReturnType<typeof startProvider>>
