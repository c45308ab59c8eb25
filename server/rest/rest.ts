import { createHash } from 'node:crypto'
import { callTRPCProcedure } from '@trpc/server'
import type express from 'express'
import { credentialIn } from '../access/credentials.ts'
import type { Idempotency, Installation, Upload } from '../access/trpc.ts'
import type { RequestRecorder } from '../api-requests/write.ts'
import { Failure, type KnownFault } from '../errors.ts'
import { addressOf } from '../http/client-address.ts'
import { codingFor, compressed } from '../http/content-coding.ts'
import { untilGone } from '../http/leaving.ts'
import { readJson } from '../http/request-body.ts'
import { stateOf } from '../http/request-state.ts'
import { receiveFile, UploadPace } from '../media/receive-file.ts'
import { beginUpload } from '../media/uploads.ts'
import { appRouter, definitionOf } from '../router.ts'
import { authenticate, identify } from './caller.ts'
import { ifMatchOf } from './conditional.ts'
import { Prefix, type Route } from './endpoint.ts'
import { documentAnswer } from './openapi-http.ts'
import { sendProblem } from './problem.ts'
import { pathAsSent, routeOf } from './route.ts'

type Request = express.Request
type Response = express.Response

const JsonBytes = 256 * 1024
const exposed =
  'Link, Location, ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'

/** The public API: one handler for all rows of the table. `answer` has the order of checks. Mounted at /public/v1. */
export function rest(installation: Installation, recorder: RequestRecorder): express.RequestHandler {
  const api = { ...installation, sendDocument: documentAnswer(installation.env) }
  return (req, res) => {
    noteAtEnd(recorder, req, res)
    setCommonHeaders(res)
    answer(api, req, res).catch((error: unknown) => sendProblem(installation, req, res, error))
  }
}

type Api = Installation & { sendDocument: (req: Request, res: Response) => Promise<void> }

async function answer({ sendDocument, ...installation }: Api, req: Request, res: Response): Promise<void> {
  const found = routeOf(req, res)
  if (found instanceof Failure) return refuseKnown(installation, req, res, found)
  const { route, params } = found
  if (req.method === 'OPTIONS') return void res.status(204).end()
  const { does } = route
  if (does === null) return sendDocument(req, res)
  const actor = await authenticate(installation, req, res)
  await using bodies = new AsyncDisposableStack()
  const upload = route.body === 'file' ? bodies.use(beginUpload(installation, actor.organisationId)) : null
  const idempotency = route.idempotent ? idempotencyOf(req) : null
  const caller = { actor, log: req.log, address: addressOf(req), untilGone: () => untilGone(req, res) }
  const { type, meta } = definitionOf(does)
  stateOf(res).scope = meta?.scope
  const output = await callTRPCProcedure({
    router: appRouter,
    path: does,
    type,
    ctx: { ...installation, ...caller, idempotency, upload },
    // The procedure asks for its input once the credential has the scope: until then no body is read.
    getRawInput: async () => {
      const body = bodies.use(await readBody(installation, route, req, upload))
      if (idempotency) completeIdempotency(idempotency, body.digested)
      return { ...inputOf(route, params, queryOf(req), body.value), ...(route.ifMatch ? ifMatchOf(req) : {}) }
    },
    signal: undefined,
    batchIndex: 0,
  })
  if (idempotency?.replayed) res.set('Idempotent-Replayed', 'true')
  await send(installation, req, res, route, output)
}

// A wrong path or method is refused with any credential. With a valid one, the call is recorded
// for its developer, and it counts like any other.
async function refuseKnown(installation: Installation, req: Request, res: Response, refusal: Failure): Promise<never> {
  const credential = credentialIn(req.headers.authorization)
  if (credential)
    await identify(installation, credential, req, res).catch((error: unknown) => req.log.warn({ err: error }))
  throw refusal
}

const CallerGone = 499 // nginx's status for a caller who disconnected before the response

// Only calls with a valid credential: no other call belongs to an organisation.
function noteAtEnd(recorder: RequestRecorder, req: Request, res: Response): void {
  const { method, id: requestId } = req
  const at = new Date()
  const start = performance.now()
  res.once('close', () => {
    const { caller: actor, problem, isPastLimit } = stateOf(res)
    if (!actor) return
    const isAnswered = res.writableFinished
    const call = {
      organisationId: actor.organisationId,
      at,
      requestId: String(requestId),
      method,
      path: pathAsSent(req),
      credentialKind: actor.kind,
      credentialId: actor.id,
      credentialName: actor.name,
      status: isAnswered ? res.statusCode : CallerGone,
      durationMs: Math.round(performance.now() - start),
      problem: isAnswered ? (problem ?? null) : null,
    }
    recorder.note(call, isPastLimit === true)
  })
}

function setCommonHeaders(res: Response): void {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': exposed,
    'Cache-Control': 'no-store',
  })
}

type Body = AsyncDisposable & { value: unknown; digested: Uint8Array }

async function readBody({ files }: Installation, route: Route, req: Request, upload: Upload | null): Promise<Body> {
  if (upload) return receiveFile(files, req, UploadPace, upload.reserve)
  const whole = { [Symbol.asyncDispose]: async () => {} }
  if (route.body === undefined) return { value: undefined, digested: new Uint8Array(), ...whole }
  const { value, bytes } = await readJson(req, JsonBytes)
  return { value, digested: createHash('sha256').update(bytes).digest(), ...whole }
}

const ListedAtMost = 100 // of a parameter with commas, more than any takes

function queryOf(req: Request): Record<string, string> {
  const query = new URLSearchParams(queryStringOf(req))
  const seen = new Set<string>()
  const repeated = new Set([...query.keys()].filter((name) => seen.size === seen.add(name).size))
  refuseAny([...repeated].map((path) => ({ path, code: 'repeated', message: 'This is sent twice. Send it once.' })))
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
  const unknownNames = Object.keys(query).filter((name) => !route.query || named.includes(name))
  refuseAny(
    unknownNames.map((path) => ({ path, code: 'unknown_field', message: 'Unknown parameter. Check its spelling.' })),
  )
  if (route.query) return { ...params, ...typed(query) }
  if (route.body === undefined) return params
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Failure('invalid_request', { detail: 'The body must be a JSON object.' })
  const misplaced = named.filter((name) => Object.hasOwn(body, name))
  refuseAny(
    misplaced.map((path) => ({
      path,
      code: 'unknown_field',
      message: "This can't be in the body: it is in the path or a header.",
    })),
  )
  return { ...params, ...body }
}

// Everything in a URL is a string. The procedure refuses what is not a number, together with all other problems.
function typed(query: Record<string, string>): Record<string, unknown> {
  return {
    ...query,
    ...(/^\d{1,6}$/.test(query.limit ?? '') ? { limit: Number(query.limit) } : {}),
    ...(query.status?.includes(',') ? { status: query.status.split(',', ListedAtMost) } : {}),
  }
}

function refuseAny(errors: KnownFault[]): void {
  if (errors.length > 0) throw new Failure('invalid_request', { errors })
}

function idempotencyOf(req: Request): Idempotency | null {
  const key = req.get('idempotency-key')
  if (key === undefined) return null
  return { key, route: `${req.method} ${req.path.toLowerCase()}`, bodyHash: new Uint8Array(), replayed: false }
}

function completeIdempotency(idempotency: Idempotency, bodyHash: Uint8Array): void {
  const { length } = idempotency.key
  if (length < 1 || length > 255)
    throw new Failure('invalid_request', { detail: 'Idempotency-Key must have 1 to 255 characters.' })
  idempotency.bodyHash = bodyHash
}

// Compressed unless it has an ETag, which is the version for If-Match and must not depend on the coding. No other site can make
// a browser send the credential, so nobody can compare the sizes of answers to different questions (BREACH).
async function send({ env }: Installation, req: Request, res: Response, route: Route, output: unknown): Promise<void> {
  const { id, version, nextCursor } = (output ?? {}) as { id?: string; version?: number; nextCursor?: string | null }
  if (route.location) res.set('Location', `${env.baseUrl}${Prefix}${route.location}${id}`)
  if (version !== undefined) res.set('ETag', `"${version}"`)
  if (nextCursor) res.set('Link', `<${nextPage(env.baseUrl, req, nextCursor)}>; rel="next"`)
  if (route.status === 204) return void res.status(204).end()
  const body = JSON.stringify(output)
  const isCompressible = route.method === 'get' && version === undefined
  if (isCompressible) res.vary('Accept-Encoding')
  const coding = isCompressible && body.length >= WorthCompressing ? codingFor(req) : null
  const bytes = coding ? await compressed(coding, Buffer.from(body)) : body
  if (coding) res.set('Content-Encoding', coding)
  // res.end and not res.json: Express would answer 304 to a GET whose ETag matches, and hide a changed status.
  res.status(route.status).type('application/json').end(bytes)
}

const WorthCompressing = 1000 // characters: less fits into one packet anyway

function nextPage(baseUrl: string, req: Request, cursor: string): string {
  const url = new URL(`${Prefix}${req.path}${queryStringOf(req)}`, baseUrl)
  url.searchParams.set('cursor', cursor)
  return url.href
}
