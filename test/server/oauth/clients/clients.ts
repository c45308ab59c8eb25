import { Auth } from '@auth/core'
import { OAuth2Client as BadgatewayClient } from '@badgateway/oauth2-client'
import { auth as mcpAuth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import * as arctic from 'arctic'
import ClientOAuth2 from 'client-oauth2'
import * as o from 'oauth4webapi'
import * as openid from 'openid-client'
import * as oslo from 'oslo/oauth2'
import PassportStrategy from 'passport-oauth2'
import { AuthorizationCode } from 'simple-oauth2'

// Ten clients from npm, as their documentation shows them: nothing of them is changed, and no option is set that is not needed.

/** What an app knows of us, and its user's browser: `browse` goes to our consent page and comes back with the answer. */
export type Meeting = {
  appUrl: string
  baseUrl: string
  clientId: string
  clientSecret: string
  redirectUri: string
  browse: (url: URL | string) => Promise<URL>
}

/** What a client ends with: a token, and one that it has revoked, where it can. */
type Tokens = { token: string; revoked?: string }

/** Each runs the flow. */
export const clients: Record<string, (meeting: Meeting) => Promise<Tokens>> = {
  oauth4webapi: withOauth4webapi,
  'openid-client': withOpenidClient,
  'simple-oauth2': (meeting) => withSimpleOauth2(meeting, {}),
  'simple-oauth2 in JSON': (meeting) =>
    withSimpleOauth2(meeting, { options: { bodyFormat: 'json', authorizationMethod: 'body' } }),
  'passport-oauth2': withPassport,
  arctic: withArctic,
  '@badgateway/oauth2-client': withBadgateway,
  'client-oauth2': withClientOauth2,
  '@auth/core': withAuthCore,
  'oslo/oauth2': withOslo,
  '@modelcontextprotocol/sdk': withMcp,
}

const insecure = { [o.allowInsecureRequests]: true } // the tests' addresses are on http
const state = 'from the client & back+'

/** oauth4webapi as far as the token, with what it takes to revoke and introspect it. */
export async function openOauth4webapi({ baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting) {
  const issuer = new URL(baseUrl)
  const as = await o.processDiscoveryResponse(
    issuer,
    await o.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  )
  const client = { client_id: clientId }
  const clientAuth = o.ClientSecretBasic(clientSecret)
  const verifier = o.generateRandomCodeVerifier()
  const url = new URL(as.authorization_endpoint!)
  url.search = new URLSearchParams({
    ...{ client_id: clientId, redirect_uri: redirectUri, response_type: 'code', state },
    ...{ code_challenge: await o.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
  }).toString()
  const parameters = o.validateAuthResponse(as, client, await browse(url), state)
  const response = await o.authorizationCodeGrantRequest(
    as,
    client,
    clientAuth,
    parameters,
    redirectUri,
    verifier,
    insecure,
  )
  const { access_token: token } = await o.processAuthorizationCodeResponse(as, client, response)
  return {
    token,
    introspect: async () =>
      o.processIntrospectionResponse(as, client, await o.introspectionRequest(as, client, clientAuth, token, insecure)),
    revoke: async () => o.processRevocationResponse(await o.revocationRequest(as, client, clientAuth, token, insecure)),
  }
}

async function withOauth4webapi(meeting: Meeting): Promise<Tokens> {
  const { token } = await openOauth4webapi(meeting)
  return { token }
}

async function withOpenidClient({ baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting): Promise<Tokens> {
  const config = await openid.discovery(new URL(baseUrl), clientId, clientSecret, undefined, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const tokens = await openid.authorizationCodeGrant(config, await browse(url), {
    pkceCodeVerifier,
    expectedState: state,
  })
  return { token: tokens.access_token }
}

async function withSimpleOauth2(meeting: Meeting, more: object): Promise<Tokens> {
  const { appUrl, baseUrl, clientId, clientSecret, redirectUri, browse } = meeting
  const client = new AuthorizationCode({
    client: { id: clientId, secret: clientSecret },
    auth: { tokenHost: baseUrl, authorizeHost: appUrl },
    ...more,
  })
  const back = await browse(client.authorizeURL({ redirect_uri: redirectUri, state }))
  const { token } = await client.getToken({ code: back.searchParams.get('code')!, redirect_uri: redirectUri })
  const spare = await browse(client.authorizeURL({ redirect_uri: redirectUri, state }))
  const second = await client.getToken({ code: spare.searchParams.get('code')!, redirect_uri: redirectUri })
  await second.revoke('access_token')
  return { token: token.access_token as string, revoked: second.token.access_token as string }
}

// Passport itself only does this: it gives a strategy the ends that a request may come to.
async function withPassport({
  appUrl,
  baseUrl,
  clientId,
  clientSecret,
  redirectUri,
  browse,
}: Meeting): Promise<Tokens> {
  const strategy = new PassportStrategy(
    {
      authorizationURL: `${appUrl}/oauth/authorize`,
      tokenURL: `${baseUrl}/oauth/token`,
      ...{ clientID: clientId, clientSecret, callbackURL: redirectUri },
    },
    (accessToken: string, _refreshToken: string, _profile: unknown, done: (error: null, user: object) => void) =>
      done(null, { accessToken }),
  )
  const session = {}
  const run = (query: object) =>
    new Promise<string>((done, fail) => {
      const ends = {
        redirect: done,
        success: (user: { accessToken: string }) => done(user.accessToken),
        fail,
        error: fail,
      }
      Object.assign(Object.create(strategy), ends).authenticate({ query, session }, {})
    })
  const back = await browse(await run({}))
  return { token: await run(Object.fromEntries(back.searchParams)) }
}

async function withArctic({ appUrl, baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting): Promise<Tokens> {
  const client = new arctic.OAuth2Client(clientId, clientSecret, redirectUri)
  const authorize = `${appUrl}/oauth/authorize`
  const get = async () => {
    const back = await browse(client.createAuthorizationURL(authorize, state, ['posts:read']))
    const code = back.searchParams.get('code')!
    return (await client.validateAuthorizationCode(`${baseUrl}/oauth/token`, code, null)).accessToken()
  }
  const revoked = await get()
  await client.revokeToken(`${baseUrl}/oauth/revoke`, revoked)
  return { token: await get(), revoked }
}

async function withBadgateway({ baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting): Promise<Tokens> {
  const client = new BadgatewayClient({ server: baseUrl, clientId, clientSecret })
  const codeVerifier = 'v'.repeat(64)
  const back = await browse(await client.authorizationCode.getAuthorizeUri({ redirectUri, state, codeVerifier }))
  const { accessToken } = await client.authorizationCode.getTokenFromCodeRedirect(back, {
    redirectUri,
    state,
    codeVerifier,
  })
  return { token: accessToken }
}

async function withClientOauth2({
  appUrl,
  baseUrl,
  clientId,
  clientSecret,
  redirectUri,
  browse,
}: Meeting): Promise<Tokens> {
  const client = new ClientOAuth2({
    ...{ clientId, clientSecret, redirectUri, state: 'plain' },
    accessTokenUri: `${baseUrl}/oauth/token`,
    authorizationUri: `${appUrl}/oauth/authorize`,
    scopes: ['posts:read', 'posts:write'],
  })
  const back = await browse(client.code.getUri())
  return { token: (await client.code.getToken(back.href)).accessToken }
}

async function withAuthCore({
  appUrl,
  baseUrl,
  clientId,
  clientSecret,
  redirectUri,
  browse,
}: Meeting): Promise<Tokens> {
  let token = ''
  const cookies = new Map<string, string>()
  const shop = redirectUri.replace('/callback/punctual', '')
  const visit = async (path: string, form?: Record<string, string>) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const init = form ? { method: 'POST', body: new URLSearchParams(form) } : {}
    const response = await Auth(new Request(shop + path, { headers: { cookie }, ...init }), {
      ...{ secret: 'of the shop', trustHost: true, basePath: '/auth' },
      providers: [
        {
          ...{ id: 'punctual', name: 'Punctual', type: 'oauth', issuer: baseUrl, clientId, clientSecret },
          authorization: `${appUrl}/oauth/authorize?scope=posts:read`,
          ...{ token: `${baseUrl}/oauth/token`, userinfo: `${baseUrl}/public/v1/me` },
          profile: ({ organisation }) => organisation,
        },
      ],
      callbacks: {
        jwt({ token: jwt, account }) {
          token = account?.access_token ?? token
          return jwt
        },
      },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = line.match(/^([^=]+)=([^;]*)/) ?? []
      cookies.set(name, value)
    }
    return response
  }
  const { csrfToken } = (await (await visit('/csrf')).json()) as { csrfToken: string }
  const away = await visit('/signin/punctual', { csrfToken })
  const back = await browse(away.headers.get('location')!)
  await visit(`/callback/punctual${back.search}`)
  return { token }
}

async function withOslo({ appUrl, baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting): Promise<Tokens> {
  const client = new oslo.OAuth2Client(clientId, `${appUrl}/oauth/authorize`, `${baseUrl}/oauth/token`, {
    redirectURI: redirectUri,
  })
  const codeVerifier = oslo.generateCodeVerifier()
  const back = await browse(await client.createAuthorizationURL({ state, codeVerifier }))
  const code = back.searchParams.get('code')!
  const tokens = await client.validateAuthorizationCode(code, { codeVerifier, credentials: clientSecret })
  return { token: tokens.access_token }
}

// It is told the API's address alone and finds the rest: RFC 9728, then RFC 8414.
async function withMcp({ baseUrl, clientId, clientSecret, redirectUri, browse }: Meeting): Promise<Tokens> {
  const kept: { url?: URL; verifier?: string; tokens?: OAuthTokens } = {}
  const keep = (more: typeof kept) => void Object.assign(kept, more)
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadata: { redirect_uris: [redirectUri] },
    clientInformation: () => ({ client_id: clientId, client_secret: clientSecret }),
    state: () => 's',
    tokens: () => kept.tokens,
    saveTokens: (tokens) => keep({ tokens }),
    redirectToAuthorization: (url) => keep({ url }),
    saveCodeVerifier: (verifier) => keep({ verifier }),
    codeVerifier: () => kept.verifier!,
  }
  await mcpAuth(provider, { serverUrl: baseUrl })
  const authorizationCode = (await browse(kept.url!)).searchParams.get('code')!
  await mcpAuth(provider, { serverUrl: baseUrl, authorizationCode })
  return { token: kept.tokens!.access_token }
}
