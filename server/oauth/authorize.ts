import { and, eq, inArray, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { organisations } from '../../db/schema/accounts.ts'
import { apps, authorizationRequests } from '../../db/schema/oauth.ts'
import { open, type Place, seal } from '../../db/sealed.ts'
import type { MemberActor } from '../access/credentials.ts'
import type { Scope } from '../access/scopes.ts'
import { digest, mintToken } from '../access/secrets.ts'
import { open as anybody, type Context, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { noteAttempt } from './apps.ts'
import {
  type AuthorizationRequest,
  answerUrl,
  checkRequest,
  clientIdOf,
  isRegistered,
  PageError,
  parametersOf,
  type QueryParameters,
  RedirectError,
  type RedirectTarget,
} from './authorization-request.ts'
import { approve, deny, type Grantable, grantable } from './consent.ts'
import { AuthorizeQuery, DecideRequest } from './forms.ts'

const RequestMinutes = 60
const SameAnswerSeconds = 60 // a double click within gets the same redirect
const RequestsOfSession = 20 // that are kept: the oldest goes

/** The answer of GET /oauth/authorize: an error page, a redirect to the app, the sign-in, or the consent page. */
export type Begun =
  | { kind: 'refused'; message: string }
  | { kind: 'redirect'; url: string }
  | { kind: 'sign_in' }
  | { kind: 'consent'; consent: Consent }

export type Consent = {
  request: string // what the form sends back
  app: { name: string; description: string; picture: string | null; maker: string }
  scopes: Scope[]
  goesTo: string // the origin that the browser goes to next
  organisations: Grantable[]
  organisationId: string | null // preselected
}

export const authorize = router({
  /**
   * Check an authorization request completely before anybody signs in, and store it for the consent page.
   *
   * `isOnlyLook`: nobody will answer it (HEAD), so nothing is stored.
   */
  begin: anybody.input(AuthorizeQuery).mutation(async ({ ctx, input }): Promise<Begun> => {
    const parameters = parametersOf(input.query)
    const app = await appNamed(ctx, parameters).catch(orPageError)
    if (app instanceof PageError) return { kind: 'refused', message: app.message }
    try {
      const request = checkRequest(parameters, app)
      if (ctx.actor?.kind !== 'member') return { kind: 'sign_in' }
      const token = input.isOnlyLook ? '' : mintToken()
      return await askFor(ctx, ctx.actor, app, request, token).catch((error) => ourFault(ctx, request, error))
    } catch (error) {
      return refusal(ctx, app, error)
    }
  }),

  /** The person's decision. Returns where the browser goes: the app's redirect URI with a code, or with access_denied. */
  decide: signedIn.input(DecideRequest).mutation(
    ({ ctx, input }): Promise<{ url: string }> =>
      ctx.db.transaction(async (tx) => {
        const isTheirs = and(
          eq(authorizationRequests.tokenHash, digest(input.request)),
          eq(authorizationRequests.sessionId, ctx.actor.sessionId),
          sql`${authorizationRequests.expiresAt} > now()`,
          sql`(${authorizationRequests.decidedAt} is null
            or ${authorizationRequests.decidedAt} > now() - ${SameAnswerSeconds} * interval '1 second')`,
        )
        // The app before its request: the order in which deleting an app locks them.
        const ofApp = tx.select({ appId: authorizationRequests.appId }).from(authorizationRequests).where(isTheirs)
        const [app] = await tx.select().from(apps).where(inArray(apps.id, ofApp)).for('key share')
        const [kept] = await tx.select().from(authorizationRequests).where(isTheirs).for('update')
        if (!app || !kept || !isRegistered(app.redirectUris, kept.redirectUri)) throw new Failure('consent_expired')
        if (kept.answer) return { url: sameAnswer(ctx, kept, kept.answer, input.decision) }
        const { decision } = input
        const parameters = await (decision === 'approve' ? approve : deny)(ctx, tx, app, kept, input)
        const url = answerUrl(redirectTargetOf(ctx, kept), ctx.env.baseUrl, parameters)
        const place = placeOf('answer', kept.id, kept.organisationId)
        const answer = seal(ctx.ring, place, JSON.stringify({ decision, url }))
        await tx
          .update(authorizationRequests)
          .set({ answer, decidedAt: sql`now()` })
          .where(eq(authorizationRequests.id, kept.id))
        return { url }
      }),
  ),
})

type AppRow = typeof apps.$inferSelect
type KeptRequest = typeof authorizationRequests.$inferSelect

const NoSuchApp = 'No app has this client_id.'

async function appNamed({ db }: Context, parameters: QueryParameters): Promise<AppRow> {
  const clientId = clientIdOf(parameters)
  const [app] = await db.select().from(apps).where(eq(apps.clientId, clientId))
  if (!app) throw new PageError(NoSuchApp)
  return app
}

function orPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  throw error
}

// Our own errors after a good request go back to the app as server_error. Only the log has the reason.
function ourFault(ctx: Context, target: RedirectTarget, error: unknown): never {
  if (error instanceof PageError) throw error
  ctx.log.error({ err: error }, 'authorization request failed')
  throw new RedirectError('server_error', 'Something went wrong on our side.', target)
}

async function refusal(ctx: Context, app: AppRow, error: unknown): Promise<Begun> {
  if (!(error instanceof PageError) && !(error instanceof RedirectError)) throw error
  const outcome = error instanceof RedirectError ? error.error : 'redirect_uri'
  if (outcome !== 'server_error')
    await noteAttempt(ctx.db, app, { step: 'authorize', outcome, description: error.forMaker })
  if (error instanceof PageError) return { kind: 'refused', message: error.message }
  const parameters = { error: error.error, error_description: error.message }
  return { kind: 'redirect', url: answerUrl(error.target, ctx.env.baseUrl, parameters) }
}

// `token` is what the form sends back; without one nothing is kept.
async function askFor(
  ctx: Context,
  member: MemberActor,
  app: AppRow,
  request: AuthorizationRequest,
  token: string,
): Promise<Begun> {
  if (token && !(await keep(ctx, member, app, request, token))) return { kind: 'sign_in' }
  const [maker] = await ctx.db
    .select({ name: organisations.name })
    .from(organisations)
    .where(eq(organisations.id, app.organisationId))
  if (!maker) throw new PageError(NoSuchApp)
  const theirs = await grantable(ctx.db, member)
  const consent: Consent = {
    request: token,
    app: {
      name: app.name,
      description: app.description,
      picture: app.pictureKey && `${ctx.env.appUrl}/files/${app.pictureKey}`,
      maker: maker.name,
    },
    scopes: request.scopes,
    goesTo: new URL(request.redirectUri).origin,
    organisations: theirs,
    organisationId: theirs.find(({ id }) => id === member.organisationId)?.id ?? theirs[0]?.id ?? null,
  }
  return { kind: 'consent', consent }
}

// False when the session has ended meanwhile. An app that was deleted meanwhile gets an error page. Neither is our fault.
function keep(
  ctx: Context,
  { sessionId }: MemberActor,
  app: AppRow,
  request: AuthorizationRequest,
  token: string,
): Promise<boolean> {
  return ctx.db.transaction(async (tx) => {
    const [known] = await tx.execute(sql`select from apps where id = ${app.id} for key share`)
    if (!known) throw new PageError(NoSuchApp)
    const [session] = await tx.execute(sql`select from sessions where id = ${sessionId} for key share`)
    if (!session) return false
    const id = uuidv7()
    const { organisationId } = app
    await tx.insert(authorizationRequests).values({
      ...request,
      id,
      organisationId,
      appId: app.id,
      sessionId,
      tokenHash: digest(token),
      state: request.state === null ? null : seal(ctx.ring, placeOf('state', id, organisationId), request.state),
      expiresAt: sql`now() + ${RequestMinutes} * interval '1 minute'`,
    })
    await tx.execute(sql`
      delete from authorization_requests where id in (
        select id from authorization_requests where session_id = ${sessionId}
        order by id desc offset ${RequestsOfSession} for update skip locked)`)
    return true
  })
}

// Only the same button pressed again is a double click: a denial after an approval must not return the code.
function sameAnswer({ ring }: Context, kept: KeptRequest, answer: Uint8Array, decision: string): string {
  const given = JSON.parse(open(ring, placeOf('answer', kept.id, kept.organisationId), answer))
  if (given.decision !== decision) throw new Failure('consent_expired')
  return given.url
}

function redirectTargetOf(
  { ring }: Context,
  { id, organisationId, redirectUri, wasRedirectNamed, state }: KeptRequest,
): RedirectTarget {
  const opened = state && open(ring, placeOf('state', id, organisationId), state)
  return { redirectUri, wasRedirectNamed, state: opened }
}

function placeOf(field: 'state' | 'answer', id: string, organisationId: string): Place {
  return { table: 'authorization_requests', id, organisationId, field }
}
