import { createHash } from 'node:crypto'
import type express from 'express'
import type { Logger } from 'pino'
import { type Actor, credentialHolder, credentialIn, type Holder } from './actor.ts'
import { addressOf } from './address.ts'
import { Failure, type Fault, problemFrom } from './errors.ts'
import type { Scope } from './forms.ts'
import type { Journal } from './journal.ts'
import { openApi } from './openapi.ts'
import { addressKey, countWithin, demandRest, fieldsOf, MinuteSeconds, type Quota, quotaOf } from './rate-limit.ts'
import { discardRest, readJson, receiveFile } from './request-body.ts'
import { noteCaller } from './request-log.ts'
import { apiFor, appRouter } from './router.ts'
import { type Route, routes } from './routes.ts'
import { isAccessToken, isApiKey } from './secrets.ts'
import { demandScope, type Idempotency, type Installation } from './trpc.ts'

type Request = express.Request
type Response = express.Response

const Prefix = '/public/v1'
const JsonBytes = 256 * 1024
const exposed =
  'Link, Location, ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'

/** The public API: one handler for every row of the table, in API.md's order of checks. Mounted at /public/v1. */
export function rest(installation: Installation, journal: Journal): express.RequestHandler {
  const document = JSON.stringify(openApi(installation.env))
  return (req, res) => {
    noteAtEnd(journal, req, res)
    setCommonHeaders(res)
    answer(installation, document, req, res).catch((error: unknown) => sendProblem(installation, req, res, error))
  }
}

async function answer(installation: Installation, document: string, req: Request, res: Response): Promise<void> {
  const { route, params } = routeOf(req, res)
  if (req.method === 'OPTIONS') return void res.status(204).end()
  const { does } = route
  if (does === null) return void res.status(route.status).type('application/json').end(document)
  const { actor, count } = await authenticate(installation, req, res)
  noteCaller(req, res, actor)
  if (count) told(res, quotaOf('organisation', installation.env.rateLimit, count))
  demandScopeOf(does, actor, res)
  await using body = await readBody(installation, route, req)
  const input = { ...inputOf(route, params, queryOf(req), body.value), ...(route.ifMatch ? ifMatchOf(req) : {}) }
  const idempotency = route.idempotent ? idempotencyOf(req, body.digested) : null
  const context = { ...installation, actor, log: logOf(req), address: addressOf(req), idempotency }
  const output = await procedureOf(apiFor(context), does)(input)
  if (idempotency?.replayed) res.set('Idempotent-Replayed', 'true')
  send(installation, req, res, route, output)
}

const CallerGone = 499 // nginx's number for a caller who went away before the answer

// Only of whoever showed a good credential: no other call belongs to an organisation.
function noteAtEnd(journal: Journal, { baseUrl, path, method, id: requestId }: Request, res: Response): void {
  const at = new Date()
  const start = performance.now()
  res.once('close', () => {
    const actor = res.locals.caller as Actor | undefined
    if (!actor) return
    const isAnswered = res.writableFinished
    journal.note({
      ...{ organisationId: actor.organisationId, at, requestId: String(requestId), method, path: baseUrl + path },
      ...{ credentialKind: actor.kind, credentialId: actor.id, credentialName: actor.name },
      status: isAnswered ? res.statusCode : CallerGone,
      durationMs: Math.round(performance.now() - start),
      problem: isAnswered ? ((res.locals.problem as string | undefined) ?? null) : null,
    })
  })
}

function setCommonHeaders(res: Response): void {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': exposed,
    'Cache-Control': 'no-store',
  })
}

function routeOf(req: Request, res: Response): { route: Route; params: Record<string, string> } {
  const matches = routes.flatMap((route) => {
    const params = match(route.path, req.path)
    return params ? [{ route, params }] : []
  })
  if (matches.length === 0) throw new Failure('not_found', { detail: 'There is no such path in this API.' })
  // A literal path comes before one with a parameter: /media/upload-from-url is no media id.
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const candidates = matches.filter(({ params }) => Object.keys(params).length === fewest)
  res.locals.route = Prefix + candidates[0]!.route.path // for the metrics
  const method = req.method === 'HEAD' ? 'GET' : req.method
  const methods = candidates.flatMap(({ route }) =>
    route.method === 'get' ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
  )
  res.set('Allow', [...methods, 'OPTIONS'].join(', '))
  if (method === 'OPTIONS') {
    res.set('Access-Control-Allow-Methods', methods.join(', '))
    res.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, Idempotency-Key, If-Match')
    return candidates[0]!
  }
  const found = candidates.find(({ route }) => route.method === method.toLowerCase())
  if (!found) throw new Failure('method_not_allowed', { detail: `This path takes ${methods.join(', ')}.` })
  res.removeHeader('Allow')
  return found
}

function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [i, step] of wanted.entries()) {
    if (step.startsWith(':') && given[i]) params[step.slice(1)] = given[i]
    else if (step !== given[i]) return null
  }
  return params
}

async function authenticate({ db, env }: Installation, req: Request, res: Response): Promise<Holder> {
  const credential = credentialIn(req.headers.authorization)
  if (!credential)
    throw new Failure('unauthenticated', {
      detail: 'Send an API key or an access token as the value of the Authorization header.',
    })
  const holder = await credentialHolder(db, credential, env.rateLimit > 0)
  if (holder) return holder
  const { authRateLimit: limit } = env
  if (limit > 0) {
    const key = addressKey('api', addressOf(req))
    told(res, quotaOf('address', limit, await countWithin(db, key, MinuteSeconds, limit)))
  }
  throw new Failure('unauthenticated', { detail: whyRefused(credential) })
}

function told(res: Response, quota: Quota): void {
  res.set(fieldsOf(quota))
  demandRest(quota)
}

function whyRefused(credential: string): string {
  if (isApiKey(credential)) return 'This API key is unknown, revoked or expired.'
  if (isAccessToken(credential)) return 'This access token is unknown or revoked, or its app was deleted.'
  const kind = Object.keys(mistaken).find((prefix) => credential.startsWith(prefix))
  return kind ? mistaken[kind]! : 'This is neither an API key (pak_live_…) nor an access token (pos_…).'
}

const mistaken: Record<string, string> = {
  pak_: 'This API key is cut short or mistyped: it begins with pak_live_ and ends in a checksum that does not fit.',
  pos_: 'This access token is cut short or mistyped.',
  pcs_: 'This is a client secret. Send the access token that the exchange of a code gave you.',
  pca_: 'This is a client ID. Send the access token that the exchange of a code gave you.',
}

function demandScopeOf(does: string, actor: Actor, res: Response): void {
  const procedures = appRouter._def.procedures as unknown as Record<string, { _def: { meta?: { scope?: Scope } } }>
  const scope = procedures[does]?._def.meta?.scope
  res.locals.scope = scope
  if (scope) demandScope(actor, scope)
}

type Body = AsyncDisposable & { value: unknown; digested: Uint8Array }

async function readBody({ files }: Installation, route: Route, req: Request): Promise<Body> {
  if (route.body === 'file') return receiveFile(files, req)
  if (route.body === undefined)
    return { value: undefined, digested: new Uint8Array(), [Symbol.asyncDispose]: async () => {} }
  const { value, bytes } = await readJson(req, JsonBytes)
  const digested = createHash('sha256').update(bytes).digest()
  return { value, digested, [Symbol.asyncDispose]: async () => {} }
}

function queryOf(req: Request): Record<string, string> {
  const query = new URLSearchParams(queryStringOf(req))
  const seen = new Set<string>()
  const repeated = new Set([...query.keys()].filter((name) => seen.size === seen.add(name).size))
  refuseAny([...repeated].map((path) => ({ path, code: 'repeated', message: 'Given twice.' })))
  return Object.fromEntries(query)
}

function queryStringOf({ url }: Request): string {
  return url.includes('?') ? url.slice(url.indexOf('?')) : ''
}

function inputOf(
  route: Route,
  params: Record<string, string>,
  query: Record<string, string>,
  body: unknown,
): Record<string, unknown> {
  const named = [...Object.keys(params), ...(route.ifMatch ? ['ifVersions'] : [])]
  const strangers = Object.keys(query).filter((name) => !route.query || named.includes(name))
  refuseAny(strangers.map((path) => ({ path, code: 'unknown_field', message: 'There is no such parameter.' })))
  if (route.query) return { ...params, ...typed(query) }
  if (route.body === undefined) return params
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Failure('invalid_request', { detail: 'The body must be a JSON object.' })
  const clashes = named.filter((name) => Object.hasOwn(body, name))
  refuseAny(clashes.map((path) => ({ path, code: 'unknown_field', message: 'This is not named in the body.' })))
  return { ...params, ...body }
}

// RFC 9110 §13.1.1: any listed version matches, and `*` matches every version. Unlike it we accept weak tags: nginx weakens
// ours when it compresses an answer. A tag without quotes is 400, since a caller who is told 412 reads the post again for ever.
function ifMatchOf(req: Request): { ifVersions?: number[] } {
  const header = req.headers['if-match']
  if (header === undefined || header.trim() === '*') return {}
  if (!/^\s*(W\/)?"[^"]*"\s*(,\s*(W\/)?"[^"]*"\s*)*$/.test(header)) {
    const message = 'Must be an ETag as it was answered, with its quotes: "3".'
    throw new Failure('invalid_request', { errors: [{ path: 'If-Match', code: 'invalid', message }] })
  }
  const tags = header.split(',').map((tag) => /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(tag)?.[1])
  return { ifVersions: tags.flatMap((version) => (version === undefined ? [] : [Number(version)])) }
}

// Everything in a URL is a string. What is no number is left to the procedure to refuse, with all else that is wrong.
function typed(query: Record<string, string>): Record<string, unknown> {
  return /^\d{1,6}$/.test(query.limit ?? '') ? { ...query, limit: Number(query.limit) } : query
}

function refuseAny(errors: Fault[]): void {
  if (errors.length > 0) throw new Failure('invalid_request', { errors })
}

function idempotencyOf(req: Request, bodyHash: Uint8Array): Idempotency | null {
  const key = req.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key !== 'string' || key.length < 1 || key.length > 255)
    throw new Failure('invalid_request', { detail: 'Idempotency-Key must have 1 to 255 characters.' })
  return { key, bodyHash, replayed: false }
}

function procedureOf(api: ReturnType<typeof apiFor>, does: string): (input: unknown) => Promise<unknown> {
  const [noun, verb] = does.split('.') as [string, string]
  return (api as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>)[noun]![verb]!
}

function send({ env }: Installation, req: Request, res: Response, route: Route, output: unknown): void {
  const { id, version, nextCursor } = (output ?? {}) as { id?: string; version?: number; nextCursor?: string | null }
  if (route.location) res.set('Location', `${env.baseUrl}${Prefix}${route.location}${id}`)
  if (version !== undefined) res.set('ETag', `"${version}"`)
  if (nextCursor) res.set('Link', `<${nextPage(env.baseUrl, req, nextCursor)}>; rel="next"`)
  if (route.status === 204) return void res.status(204).end()
  // res.end and not res.json: Express would answer 304 to a GET whose ETag matches, and hide a changed status.
  res.status(route.status).type('application/json').end(JSON.stringify(output))
}

function nextPage(baseUrl: string, req: Request, cursor: string): string {
  const url = new URL(`${Prefix}${req.path}${queryStringOf(req)}`, baseUrl)
  url.searchParams.set('cursor', cursor)
  return url.href
}

/** Answer `error` as application/problem+json (RFC 9457). What is our own fault goes to the log, and only there. */
export function sendProblem({ env }: Pick<Installation, 'env'>, req: Request, res: Response, error: unknown): void {
  if (res.writableEnded) return // it waited too long, and was told so (waiting.ts)
  if (error === req.errored) return void hangUp(req, res)
  const { status, code, title, detail, errors, retryAfterSeconds } = problemFrom(error)
  res.locals.problem = code
  if (status >= 500) logOf(req).error({ err: error }, 'request failed')
  if (res.headersSent) return void res.destroy()
  if (status === 401) res.set('WWW-Authenticate', challenge(env.baseUrl, req))
  if (code === 'insufficient_scope') res.set('WWW-Authenticate', scopeChallenge(res.locals.scope))
  if (retryAfterSeconds !== null) res.set('Retry-After', String(retryAfterSeconds))
  const type = `${env.appUrl}/docs/errors#${code}`
  const body = { type, title, status, detail, code, requestId: req.id, errors }
  if (!req.complete) discardRest(req)
  res.status(status).type('application/problem+json').end(JSON.stringify(body))
}

// The body broke off: nobody is there to be answered, and nothing of ours failed.
function hangUp(req: Request, res: Response): void {
  logOf(req).info('the caller went away')
  res.destroy()
}

function challenge(baseUrl: string, req: Request): string {
  const error = credentialIn(req.headers.authorization) ? ', error="invalid_token"' : ''
  return `Bearer realm="punctual"${error}, resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`
}

// RFC 6750 §3.1
function scopeChallenge(scope: Scope): string {
  return `Bearer realm="punctual", error="insufficient_scope", scope="${scope}"`
}

function logOf(req: Request): Logger {
  return req.log
}
