import { createRequestHandler } from '@remix-run/node'
import type express from 'express'
import { type MemberActor, memberOf } from '../access/credentials.ts'
import type { Installation } from '../access/trpc.ts'
import { openGuides } from '../guides/guides.ts'
import { addressOf } from '../http/client-address.ts'
import { untilGone } from '../http/leaving.ts'
import { FormPace, PicturePace } from '../http/request-body.ts'
import { noteCaller } from '../http/request-log.ts'
import { stateOf } from '../http/request-state.ts'
import { type Reference, reference } from '../rest/reference.ts'
import { apiFor } from '../router.ts'
import { type FormBounds, formForPage, type PageForm } from './page-form.ts'
import { pageRequest, sendPage } from './page-request.ts'
import { sessionCookie } from './session-cookie.ts'

export type RemixBuild = Parameters<typeof createRequestHandler>[0]

const FormBytes = 64 * 1024
const PostBytes = 1280 * 1024 // the longest text and twenty alt texts, percent-encoded; or the new times of 10,000 posts
const PictureBytes = 24 * 1024 * 1024 // a picture of 20 MB and a little more, so that the page says what is wrong

/** Every page: its form read within bounds, Remix' answer sent. */
export function pages(installation: Installation, build: RemixBuild): express.RequestHandler {
  const handle = createRequestHandler(build, installation.env.production ? 'production' : 'development')
  const { host } = new URL(installation.env.appUrl)
  const documentation = openDocumentation(installation.env)
  return (req, res, next) => {
    // Remix refuses forms by these: a proxy may have changed them, the configuration stands.
    req.headers.host = host
    delete req.headers['x-forwarded-host']
    if (isConsent(req)) {
      req.originalUrl = req.path // Remix uses some query names itself, and an app's query may have the same names
    }
    // The site's name at most goes on. With no-referrer, browsers would say `null` as the origin of our own form.
    if (isSecretAddress(req)) res.set('Referrer-Policy', 'strict-origin')
    res.set('Cache-Control', 'no-store') // pages show one organisation's things
    page(installation, handle, documentation, req, res).catch(next)
  }
}

type RemixHandler = ReturnType<typeof createRequestHandler>

type Documentation = { reference: () => Reference; guide: ReturnType<typeof openGuides> }

// The same for everybody and expensive to make: once in a process, for the first reader.
function openDocumentation(env: Installation['env']): Documentation {
  let made: Reference | undefined
  return {
    reference: () => {
      made ??= reference(env)
      return made
    },
    guide: openGuides(env),
  }
}

async function page(
  installation: Installation,
  handle: RemixHandler,
  documentation: Documentation,
  req: express.Request,
  res: express.Response,
): Promise<void> {
  await using form = req.method === 'POST' ? await formForPage(req, await boundsOf(installation, req, res)) : null
  if (req.errored) return void res.destroy() // the caller disconnected
  const context = { ...documentation, ...(await loadContext(installation, form, req, res)) }
  const request = pageRequest(installation.env.appUrl, req, res)
  await sendPage(req, res, await handle(request, context as never))
}

// Only a signed-in person may send large forms. These pages send anybody else to the sign-in.
async function boundsOf(installation: Installation, req: express.Request, res: express.Response): Promise<FormBounds> {
  const [, page = ''] = /^\/(posts|queues|settings\/developers\/apps)(\/[^/]+)?\/?$/i.exec(req.path) ?? []
  if (!page || !(await memberIn(installation, req, res))) return { bytes: FormBytes, pace: FormPace, temporary: null }
  if (['posts', 'queues'].includes(page.toLowerCase())) return { bytes: PostBytes, pace: FormPace, temporary: null }
  return { bytes: PictureBytes, pace: PicturePace, temporary: () => installation.files.temporary() }
}

/** Who is signed in, by the session's cookie. */
export async function memberIn(
  { db, env }: Installation,
  req: express.Request,
  res: express.Response,
): Promise<MemberActor | null> {
  const token = sessionCookie(env.appUrl).read(req.headers.cookie ?? '')
  const member = token ? await memberOf(db, token) : null
  if (member) noteCaller(req, res, member)
  return member
}

async function loadContext(
  installation: Installation,
  form: PageForm | null,
  req: express.Request,
  res: express.Response,
) {
  const { env } = installation
  const member = await memberIn(installation, req, res)
  const device = sessionCookie(env.appUrl).readDevice(req.headers.cookie ?? '')
  const caller = { address: addressOf(req), device, untilGone: () => untilGone(req, res) }
  const context = { ...installation, ...caller, actor: member, log: req.log, idempotency: null }
  return {
    api: apiFor(context),
    member,
    query: /\?(.*)/s.exec(req.url)?.[1] ?? '',
    nonce: stateOf(res).nonce!,
    requestId: String(req.id),
    appUrl: env.appUrl,
    baseUrl: env.baseUrl,
    signupOpen: env.signup === 'open',
    sendsMail: env.mail !== null,
    session: sessionCookie(env.appUrl),
    form: () => form?.fields() ?? new FormData(),
    upload: form?.file ?? null,
    report: (error: unknown) => req.log.error({ err: error }, 'page failed'),
  }
}

/** Whether the address of this page is a secret: of a consent, or of a link that we mailed. */
function isSecretAddress({ url = '' }: { url?: string | undefined }): boolean {
  return isConsent({ url }) || /^\/(reset|verify|confirm|new-address)\/?(\?|$)/i.test(url)
}

/** Whether this is the consent page of an app. */
export function isConsent({ url = '' }: { url?: string | undefined }): boolean {
  return /^\/oauth\/authorize\/?(\?|$)/i.test(url)
}
