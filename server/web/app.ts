import express from 'express'
import type { Logger } from 'pino'
import type { Prober } from '../../db/prober.ts'
import type { Installation } from '../access/trpc.ts'
import type { RequestRecorder } from '../api-requests/write.ts'
import { Failure, problemFrom } from '../errors.ts'
import { warnOfProxy } from '../http/client-address.ts'
import { requestLog } from '../http/request-log.ts'
import { isOAuthEndpoint, oauthEndpoints, openerPolicy, sendFailure } from '../oauth/endpoints.ts'
import { sendProblem } from '../rest/problem.ts'
import { rest } from '../rest/rest.ts'
import { mailPage } from './dev-mail.ts'
import { sendFile, takeFile } from './files.ts'
import type { WebMetrics } from './metrics.ts'
import { memberIn, pages, type RemixBuild } from './pages.ts'
import type { Phase, Readiness } from './readiness.ts'
import { securityHeaders, withNonce } from './security-headers.ts'
import { builtFiles, otherFiles } from './static-files.ts'
import { limitDatabaseWait } from './waiting.ts'

/** What the app needs besides the installation. `build` is Remix's, imported by its path at run time. */
export type Serving = {
  installation: Installation
  recorder: RequestRecorder
  log: Logger
  build: RemixBuild
  publicDir: string // static files: `build/` in it never changes under a name
  metrics: WebMetrics | null // null: they are switched off
  prober: Pick<Prober, 'answers' | 'answeredAt'>
  ready: () => Promise<Readiness>
  phase: () => Phase
}

/** The whole web process as an Express app: health, public API, files, pages, in this order. */
export function createApp(serving: Serving): express.Express {
  const { installation, recorder, log, publicDir, metrics, prober } = serving
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', installation.env.trustProxy)
  app.set('query parser', false)
  if (metrics) app.use(metrics.watch)
  app.use(requestLog(log))
  app.use(warnOfProxy(log, installation.env.trustProxy))
  app.use(limitRequestTime)
  app.use(noSniffing)
  app.get('/livez', (_req, res) => void res.set('Cache-Control', 'no-store').send('ok\n'))
  app.get('/readyz', (_req, res, next) => void ready(serving, res).catch(next))
  app.use(refuseWhileDraining(serving))
  app.use(limitDatabaseWait(prober, (req, res) => sendUnavailable(installation, req, res)))
  app.use(requireHost(installation))
  app.use('/public/v1', rest(installation, recorder))
  app.use(oauthEndpoints(installation))
  app.use(requirePageRequest)
  app.get('/files/:key', (req, res, next) => void sendFile(installation, req, res).catch(next))
  app.use('/build', builtFiles(publicDir))
  app.use(otherFiles(publicDir))
  app.use(withNonce, securityHeaders(installation), openerPolicy)
  app.use(requireOwnOrigin(installation))
  app.post('/media', (req, res, next) => {
    memberIn(installation, req, res)
      .then((member) => takeFile(installation, member, req, res))
      .catch(next)
  })
  if (!installation.env.production && isFromSource)
    app.get('/dev/mail', (_req, res, next) => void mailPage(installation).then((html) => res.send(html), next))
  app.all('*', pages(installation, serving.build))
  app.use(sendError(installation))
  return app
}

// `npm run dev` runs the source. A build never shows mails, whatever its settings are.
const isFromSource = import.meta.filename.endsWith('.ts')

const WaitMs = 300_000 // Node's default, which the server had to raise for uploads

// Cuts off requests that are not complete by then. Uploads have a limit of their own (receive-file.ts).
function limitRequestTime(req: express.Request, _res: express.Response, next: express.NextFunction): void {
  if (!/\/media\/?$/i.test(req.path)) {
    const cut = setTimeout(() => req.complete || req.destroy(), WaitMs).unref()
    req.once('close', () => clearTimeout(cut))
  }
  next()
}

function noSniffing(_req: express.Request, res: express.Response, next: express.NextFunction): void {
  res.set('X-Content-Type-Options', 'nosniff')
  next()
}

async function ready({ ready }: Serving, res: express.Response): Promise<void> {
  const { status, text } = await ready()
  res.status(status).set('Cache-Control', 'no-store').send(text)
}

function refuseWhileDraining({ installation, phase }: Serving): express.RequestHandler {
  return (req, res, next) => {
    if (phase() !== 'serving') res.set('Connection', 'close') // the next request goes to another process
    if (phase() !== 'closing') return next()
    sendUnavailable(installation, req, res)
  }
}

// In the format of the API, of OAuth, or of pages.
function sendUnavailable(installation: Installation, req: express.Request, res: express.Response): void {
  const failure = new Failure('unavailable', { retryAfterSeconds: 5 })
  res.set('Connection', 'close') // the rest of a body may never come
  if (isOAuthEndpoint(req)) sendFailure(req, res, failure)
  else if (/^\/public\//.test(req.path)) sendProblem(installation, req, res, failure)
  else sendText(installation, req, res, failure)
}

// Two hosts, one process: the API's host serves the API, the app's host serves pages and cookies. They may be the same host.
function requireHost({ env: { appUrl, baseUrl } }: Installation): express.RequestHandler {
  const [appHost, apiHost] = [new URL(appUrl).host, new URL(baseUrl).host]
  return (req, res, next) => {
    if (appHost === apiHost) return next()
    const isForMachines = /^\/public(\/|$)|^\/\.well-known\/oauth-/.test(req.path) || isOAuthEndpoint(req)
    if (req.headers.host === (isForMachines ? apiHost : appHost)) return next()
    res.status(404).type('text').send(`This is not served here. Pages: ${appUrl}. API: ${baseUrl}.\n`)
  }
}

// A target may also be a whole URL or `*` (RFC 9112 §3.2), and a method can be anything. Remix fails on these.
function requirePageRequest(req: express.Request, res: express.Response, next: express.NextFunction): void {
  if (!req.originalUrl.startsWith('/'))
    throw new Failure('invalid_request', { detail: 'The request target must be a path.' })
  if (!isOurSpelling(req.originalUrl)) throw new Failure('not_found')
  const methods = ['GET', 'HEAD', 'POST']
  if (!methods.includes(req.method)) {
    res.set('Allow', methods.join(', '))
    throw new Failure('method_not_allowed', { detail: `Pages accept ${methods.join(', ')}.` })
  }
  next()
}

// Remix reads a path as browsers do and decodes it. A path that it would read as another page, such as
// /%6fauth/authorize or /x/../login, would miss the headers of that page, which go by the exact path.
function isOurSpelling(target: string): boolean {
  const [path = ''] = target.split('?')
  const hasNeedlessCode = /%(2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/i.test(path) // of A-Z a-z 0-9 - . _ ~
  return new URL(`http://here${target}`).pathname === path && !hasNeedlessCode && !path.includes('//')
}

// A browser sends the cookie with any site's form. The Origin header says whose form it is. Browsers send it with every POST.
function requireOwnOrigin({ env }: Installation): express.RequestHandler {
  return (req, _res, next) => {
    if (['GET', 'HEAD', 'OPTIONS'].includes(req.method)) return next()
    if (req.headers.origin === env.appUrl) return next()
    next(
      new Failure('foreign_origin', {
        detail: `This form was sent from another site. Open ${env.appUrl} and try again.`,
      }),
    )
  }
}

// Only errors outside a Remix route come here: app/root.tsx shows the pages' own errors.
function sendError(installation: Installation): express.ErrorRequestHandler {
  return (error, req, res, _next) => {
    // Express puts a status on errors of the caller: a URL that is not valid text is 400.
    const isCallersError = error instanceof Error && 'status' in error && Number(error.status) < 500
    sendText(installation, req, res, isCallersError ? new Failure('invalid_request', { cause: error }) : error)
  }
}

function sendText({ env }: Installation, req: express.Request, res: express.Response, error: unknown): void {
  if (res.writableEnded) return // it waited too long and was already refused (waiting.ts)
  const { status, title, detail, retryAfterSeconds } = problemFrom(error)
  if (status >= 500) req.log.error({ err: error }, 'request failed')
  if (res.headersSent) return void res.destroy()
  const retry = retryAfterSeconds === null ? {} : { 'Retry-After': String(retryAfterSeconds) }
  res.status(status).set({ ...retry, 'Cache-Control': 'no-store' })
  res.type('text').send(`${title}\n${detail}\n\n${env.appUrl}\nRequest ${req.id}\n`)
}
