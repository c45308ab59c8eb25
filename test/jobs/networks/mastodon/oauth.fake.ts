import { randomUUID } from 'node:crypto'
import type { Received, Reply, scripted } from '../scripted-server.ts'

type Routes = Parameters<typeof scripted>[0]
type App = { secret: string; redirectUri: string }

export type FakeOAuth = {
  code: string // the consent page passes it on; it can be used again
  token: string // the first one that the server issues
  tokens: Set<string> // the accepted ones
  apps: Map<string, App> // by client id
  revoked: string[]
  /** Where the consent page at `url` redirects when the member approves. `iss`: see RFC 9207. */
  consent: (url: string, more?: { iss?: string }) => URL
}

export type OAuthWays = {
  pkce?: boolean // also serves the metadata of RFC 8414
  namesIssuer?: boolean // says in the metadata that each answer names the issuer
  reusesTokens?: boolean // issues the same token again for the same account and app, as Mastodon does
  givesAppTokens?: boolean // supports the grant client_credentials
}

/** The OAuth answers of a Mastodon-like server, for one account. `urlOf`: its own address, once it has one. */
export function fakeOAuth(
  { pkce = true, namesIssuer = false, reusesTokens = false, givesAppTokens = true }: OAuthWays,
  urlOf: () => string,
): FakeOAuth & { routes: Routes } {
  const token: string = randomUUID()
  const code = randomUUID()
  const tokens = new Set([token])
  const apps = new Map<string, App>()
  const revoked: string[] = []
  const given = new Set<string>()

  const grant = (form: URLSearchParams): Reply => {
    if (!isClient(apps, form)) return refusal(401, 'invalid_client', 'Client authentication failed.')
    if (form.get('grant_type') === 'client_credentials')
      return givesAppTokens ? { body: { access_token: 'of the app' } } : refusal(400, 'unsupported_grant_type', 'No.')
    const isRight =
      form.get('code') === code &&
      form.has('code_verifier') === pkce &&
      form.get('redirect_uri') === apps.get(form.get('client_id') ?? '')?.redirectUri
    if (!isRight) return refusal(400, 'invalid_grant', 'The code is not good.')
    const isFirst = given.size === 0
    const access_token = isFirst ? token : reusesTokens && tokens.has(token) ? token : randomUUID()
    tokens.add(access_token)
    given.add(access_token)
    return { body: { access_token, token_type: 'Bearer' } }
  }

  const routes: Routes = {
    'POST /api/v1/apps': (request) => {
      const app = { id: randomUUID(), secret: randomUUID() }
      apps.set(app.id, { secret: app.secret, redirectUri: formOf(request).get('redirect_uris') ?? '' })
      return { body: { client_id: app.id, client_secret: app.secret } }
    },
    'GET /.well-known/oauth-authorization-server': () =>
      pkce
        ? {
            body: {
              issuer: `${urlOf()}/`, // Mastodon's format
              code_challenge_methods_supported: ['S256'],
              ...(namesIssuer ? { authorization_response_iss_parameter_supported: true } : {}),
            },
          }
        : { status: 404 },
    'POST /oauth/token': (request) => grant(formOf(request)),
    'POST /oauth/revoke': (request) => {
      const form = formOf(request)
      if (!isClient(apps, form)) return refusal(403, 'unauthorized_client', 'You are not authorized to revoke it.')
      revoked.push(form.get('token') ?? '')
      tokens.delete(form.get('token') ?? '')
      return { body: {} }
    },
  }
  const consent: FakeOAuth['consent'] = (url, more = {}) => {
    const asked = new URL(url).searchParams
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.search = new URLSearchParams({ code, state: asked.get('state') ?? '', ...more }).toString()
    return back
  }
  return { code, token, tokens, apps, revoked, consent, routes }
}

function isClient(apps: Map<string, App>, form: URLSearchParams): boolean {
  return apps.get(form.get('client_id') ?? '')?.secret === form.get('client_secret')
}

function formOf({ body }: Received): URLSearchParams {
  return new URLSearchParams(`${body}`)
}

function refusal(status: number, error: string, error_description: string): Reply {
  return { status, body: { error, error_description } }
}
