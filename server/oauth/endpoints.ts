import express from 'express'
import { scopes } from '../access/scopes.ts'
import type { Installation } from '../access/trpc.ts'
import { problemFrom } from '../errors.ts'
import { addressOf } from '../http/client-address.ts'
import { discardRest, FormPace, readBytes } from '../http/request-body.ts'
import { noteCaller } from '../http/request-log.ts'
import { decoded } from './authorization-request.ts'
import {
  authenticateClient,
  type CallOrigin,
  type Client,
  type ClientCredentials,
  type Endpoint,
  exchange,
  introspect,
  OAuthError,
  revoke,
} from './tokens.ts'

type Request = express.Request
type Response = express.Response
/** The parameters of a body, sent as JSON or as a form. */
type BodyParameters = Map<string, string>

const BodyBytes = 16 * 1024
/** What an endpoint reads; any other parameter is ignored (RFC 6749 §3.2). */
const known = new Set(
  'grant_type code redirect_uri code_verifier client_id client_secret token token_type_hint'.split(' '),
)

/** The OAuth endpoints that apps call, with their own error format (RFC 6749 §5.2), and the metadata documents. */
export function oauthEndpoints(installation: Installation): express.Router {
  const router = express.Router({ strict: true, caseSensitive: true })
  router.all('/oauth/token', endpoint(installation, 'token', token))
  router.all('/oauth/revoke', endpoint(installation, 'revoke', revocation))
  router.all('/oauth/introspect', endpoint(installation, 'introspect', introspection))
  router.all('/.well-known/oauth-authorization-server', document(serverMetadata(installation)))
  router.all('/.well-known/oauth-protected-resource', document(resourceMetadata(installation)))
  return router
}

/** Whether this path answers with OAuth's own error format. */
export function isOAuthEndpoint({ path }: { path: string }): boolean {
  return /^\/oauth\/(token|revoke|introspect)$/.test(path)
}

/**
 * Let an app open the consent page in a new window, see it close and get a message from its callback page.
 *
 * Must come after the headers of all pages: their `same-origin` separates window and opener for good, on any page or
 * redirect in between (HTML, "Cross-origin opener policies"). `same-origin-allow-popups` is for the opener, not for what
 * is opened. An opener reads nothing of another origin's pages, and frames are refused as before.
 */
export function openerPolicy(req: Request, res: Response, next: express.NextFunction): void {
  const [path = '', query] = req.url.split(/\?(.*)/s)
  const goesTo = /^\/(login|signup)\/?$/i.test(path) ? (new URLSearchParams(query).get('next') ?? '') : path
  if (/^\/oauth\/authorize\/?(\?|$)/i.test(goesTo)) res.set('Cross-Origin-Opener-Policy', 'unsafe-none')
  next()
}

/** One request to an endpoint: its parameters, and its client, which is authenticated on demand. */
type EndpointCall = Installation & { parameters: BodyParameters; address: string; client: () => Promise<Client> }

async function token(call: EndpointCall): Promise<unknown> {
  const { db, parameters, address } = call
  const grantType = parameters.get('grant_type')
  if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.')
  if (grantType !== 'authorization_code')
    throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code.')
  const client = await call.client()
  const code = requireParameter(parameters, 'code')
  const redirectUri = parameters.get('redirect_uri') ?? null
  return exchange(db, client, { code, redirectUri, verifier: parameters.get('code_verifier') ?? null }, address)
}

async function revocation(call: EndpointCall): Promise<unknown> {
  const client = await call.client()
  await revoke(call.db, client, requireParameter(call.parameters, 'token'), call.address)
  return {}
}

async function introspection(call: EndpointCall): Promise<unknown> {
  const client = await call.client()
  return introspect(call.db, client, call.env.baseUrl, requireParameter(call.parameters, 'token'))
}

function endpoint(
  installation: Installation,
  name: Endpoint,
  does: (call: EndpointCall) => Promise<unknown>,
): express.RequestHandler {
  return (req, res) => {
    if (req.method === 'OPTIONS')
      return void res
        .set({ ...common, ...preflight('POST') })
        .status(204)
        .end()
    if (req.method !== 'POST')
      return void sendError(res, 405, 'invalid_request', 'This endpoint accepts only POST.', { Allow: 'POST, OPTIONS' })
    answer(installation, req, res, { endpoint: name, address: addressOf(req) }, does).then(
      (body) => send(res, 200, body),
      (error: unknown) => sendFailure(req, res, error),
    )
  }
}

async function answer(
  installation: Installation,
  req: Request,
  res: Response,
  origin: CallOrigin,
  does: (call: EndpointCall) => Promise<unknown>,
): Promise<unknown> {
  const parameters = parametersOf(req, await readBytes(req, BodyBytes, FormPace))
  const client = async () => {
    const app = await clientOf(installation, req, parameters, origin)
    noteCaller(req, res, { kind: 'app', ...app })
    return app
  }
  return does({ ...installation, parameters, address: origin.address, client })
}

/** The parameters of a JSON or form body; empty ones count as absent (RFC 6749 §3.2). Throws `invalid_request`. */
function parametersOf(req: Request, body: Buffer): BodyParameters {
  const type = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  const text = textOf(body)
  if (type === 'application/json') return fromJson(text)
  if (type === 'application/x-www-form-urlencoded') return fromForm(text)
  throw new OAuthError('invalid_request', 'Send the body as application/x-www-form-urlencoded or application/json.')
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new OAuthError('invalid_request', 'The body is not UTF-8.')
  }
}

function fromJson(text: string): BodyParameters {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new OAuthError('invalid_request', 'The body is not JSON.')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new OAuthError('invalid_request', 'The body must be a JSON object.')
  const parameters: BodyParameters = new Map()
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string') setText(parameters, name, value)
    else if (known.has(name)) throw new OAuthError('invalid_request', 'Every parameter in the body must be a string.')
  }
  return parameters
}

function fromForm(text: string): BodyParameters {
  const parameters: BodyParameters = new Map()
  for (const [name, value] of new URLSearchParams(text)) {
    if (parameters.has(name)) throw new OAuthError('invalid_request', 'A parameter is given twice.')
    setText(parameters, name, value)
  }
  return parameters
}

function setText(parameters: BodyParameters, name: string, value: string): void {
  if (value.includes('\0') || !value.isWellFormed())
    throw new OAuthError('invalid_request', 'The body contains characters that are not valid text.')
  if (value !== '') parameters.set(name, value)
}

/** The client by HTTP Basic or by the body, never by both (RFC 6749 §2.3.1). */
async function clientOf(
  installation: Installation,
  req: Request,
  parameters: BodyParameters,
  origin: CallOrigin,
): Promise<Client> {
  const { authorization = '' } = req.headers
  const basic = basicOf(req.headers.authorization)
  const [clientId, secret] = [parameters.get('client_id') ?? null, parameters.get('client_secret') ?? null]
  if (!basic) return authenticateClient(installation, { clientId, secret }, origin)
  const isOther = clientId !== null && basic.clientId !== null && clientId !== basic.clientId
  if (/^basic\b/i.test(authorization) && (secret !== null || isOther))
    throw new OAuthError('invalid_request', 'Send the client secret once: by HTTP Basic or in the body.')
  return authenticateClient(installation, basic, origin)
}

function basicOf(header: string | undefined): ClientCredentials | null {
  if (header === undefined) return null
  const pair = Buffer.from(header.match(/^basic\s+([\w+/=-]+)\s*$/i)?.[1] ?? '', 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0) return { clientId: null, secret: null }
  return { clientId: decoded(pair.slice(0, colon)), secret: decoded(pair.slice(colon + 1)) }
}

function requireParameter(parameters: BodyParameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}

/** Answer one of the endpoints with what went wrong (RFC 6749 §5.2). */
export function sendFailure(req: Request, res: Response, error: unknown): void {
  if (res.writableEnded) return // it waited too long and was already refused (waiting.ts)
  if (error instanceof OAuthError) {
    const isClient = error.error === 'invalid_client'
    const challenge =
      isClient && req.headers.authorization ? { 'WWW-Authenticate': 'Basic realm="punctual", charset="UTF-8"' } : {}
    sendError(res, isClient ? 401 : 400, error.error, error.message, challenge)
    return
  }
  if (error === req.errored) return void res.destroy() // the caller disconnected
  if (!req.complete) discardRest(req)
  const { status, detail, retryAfterSeconds } = problemFrom(error)
  const headers = retryAfterSeconds === null ? {} : { 'Retry-After': String(retryAfterSeconds) }
  // The only registered code that means "try again". After invalid_client, some clients delete their credentials.
  if (status === 429) return void sendError(res, 429, 'temporarily_unavailable', detail, headers)
  if (status === 503) return void sendError(res, 503, 'temporarily_unavailable', detail, headers)
  if (status < 500) return void sendError(res, status, 'invalid_request', detail, headers)
  req.log.error({ err: error }, 'request failed')
  sendError(res, 500, 'server_error', 'Something went wrong on our side.', headers)
}

function sendError(
  res: Response,
  status: number,
  error: string,
  description: string,
  headers: Record<string, string>,
): void {
  send(res.set(headers), status, { error, error_description: description })
}

// Not res.json: Express would add an ETag, a digest of the token.
function send(res: Response, status: number, body: unknown): void {
  res.status(status).set(common).type('application/json').end(JSON.stringify(body))
}

const common = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'Access-Control-Allow-Origin': '*' }

function preflight(method: string) {
  return {
    'Access-Control-Allow-Methods': method,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  }
}

function document(content: object): express.RequestHandler {
  return (req, res) => {
    res.set('Access-Control-Allow-Origin', '*')
    if (req.method === 'OPTIONS') return void res.set(preflight('GET')).status(204).end()
    if (req.method !== 'GET' && req.method !== 'HEAD')
      return void sendError(res, 405, 'invalid_request', 'This document accepts only GET.', {
        Allow: 'GET, HEAD, OPTIONS',
      })
    res.set('Cache-Control', 'public, max-age=300').json(content)
  }
}

/** RFC 8414. */
function serverMetadata({ env: { appUrl, baseUrl } }: Installation) {
  const methods = ['client_secret_basic', 'client_secret_post']
  return {
    issuer: baseUrl,
    authorization_endpoint: `${appUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    introspection_endpoint: `${baseUrl}/oauth/introspect`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    scopes_supported: scopes,
    authorization_response_iss_parameter_supported: true,
  }
}

/** RFC 9728. */
function resourceMetadata({ env: { baseUrl } }: Installation) {
  return {
    resource: baseUrl,
    authorization_servers: [baseUrl],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  }
}
