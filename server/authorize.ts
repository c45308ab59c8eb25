import { and, eq, inArray, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../db/client.ts'
import {
  apps,
  authorizationCodes,
  authorizationRequests,
  channels,
  grants,
  memberships,
  organisations,
} from '../db/schema.ts'
import { open, type Place, seal } from '../db/sealed.ts'
import { by, record } from './activity.ts'
import type { Actor } from './actor.ts'
import { noteAttempt } from './apps.ts'
import {
  type AuthorizationRequest,
  answerUrl,
  checkRequest,
  clientIdOf,
  PageError,
  parametersOf,
  RedirectError,
  type Way,
} from './authorization-request.ts'
import { Failure } from './errors.ts'
import { AuthorizeQuery, DecideRequest, type Scope } from './forms.ts'
import { digest, mintToken } from './secrets.ts'
import { open as anybody, type Context, router, signedIn } from './trpc.ts'

const RequestMinutes = 60
const CodeMinutes = 10
const SameAnswerSeconds = 60 // a double click within gets the same redirect

/** What GET /oauth/authorize answers: a page that goes nowhere, a redirect to the app, or a person to be asked. */
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
  organisations: { id: string; name: string; channels: { id: string; name: string; network: string }[] }[]
  organisationId: string | null // preselected
}

export const authorize = router({
  /** Check an authorization request, all of it before anybody signs in, and keep it for the consent page. */
  begin: anybody.input(AuthorizeQuery).mutation(async ({ ctx, input }): Promise<Begun> => {
    const parameters = parametersOf(input.query)
    const app = await appNamed(ctx, parameters).catch(orPageError)
    if (app instanceof PageError) return { kind: 'refused', message: app.message }
    try {
      const request = checkRequest(parameters, app)
      if (ctx.actor?.kind !== 'member') return { kind: 'sign_in' }
      const consent = await askFor(ctx, ctx.actor, app, request).catch((error) => ourFault(ctx, request, error))
      return { kind: 'consent', consent }
    } catch (error) {
      return refusal(ctx, app, error)
    }
  }),

  /** The person's word. Returns where the browser goes: the app's redirect URI with a code, or with access_denied. */
  decide: signedIn.input(DecideRequest).mutation(
    ({ ctx, input }): Promise<{ url: string }> =>
      ctx.db.transaction(async (tx) => {
        const isTheirs = and(
          eq(authorizationRequests.tokenHash, digest(input.request)),
          eq(authorizationRequests.sessionId, ctx.actor.sessionId),
          sql`${authorizationRequests.expiresAt} > now()`,
        )
        // The app before its request: the order in which deleting an app locks them.
        const ofApp = tx.select({ appId: authorizationRequests.appId }).from(authorizationRequests).where(isTheirs)
        const [app] = await tx.select().from(apps).where(inArray(apps.id, ofApp)).for('key share')
        const [kept] = await tx.select().from(authorizationRequests).where(isTheirs).for('update')
        if (!app || !kept) throw new Failure('consent_expired')
        if (kept.decidedAt) return { url: sameAnswer(ctx, kept) }
        const url =
          input.decision === 'approve' ? await approve(ctx, tx, app, kept, input) : await deny(ctx, tx, app, kept)
        const answer = seal(ctx.ring, placeOf('answer', kept.id, kept.organisationId), url)
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
type Member = Extract<Actor, { kind: 'member' }>
type Deciding = Context & { actor: Member }

async function appNamed({ db }: Context, parameters: ReturnType<typeof parametersOf>): Promise<AppRow> {
  const clientId = clientIdOf(parameters)
  const [app] = await db.select().from(apps).where(eq(apps.clientId, clientId))
  if (!app) throw new PageError('There is no app with this client_id here.')
  return app
}

function orPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  throw error
}

// What fails on our side once the request is good is told to the app; the reason goes to the log, and only there.
function ourFault(ctx: Context, way: Way, error: unknown): never {
  ctx.log.error({ err: error }, 'authorization request failed')
  throw new RedirectError('server_error', 'Something went wrong on our side.', way)
}

async function refusal(ctx: Context, app: AppRow, error: unknown): Promise<Begun> {
  if (!(error instanceof PageError) && !(error instanceof RedirectError)) throw error
  const outcome = error instanceof RedirectError ? error.error : 'redirect_uri'
  if (outcome !== 'server_error')
    await noteAttempt(ctx.db, app, { step: 'authorize', outcome, description: error.message, address: ctx.address })
  if (error instanceof PageError) return { kind: 'refused', message: error.message }
  const parameters = { error: error.error, error_description: error.message }
  return { kind: 'redirect', url: answerUrl(error.way, ctx.env.baseUrl, parameters) }
}

async function askFor(ctx: Context, member: Member, app: AppRow, request: AuthorizationRequest): Promise<Consent> {
  const token = mintToken()
  const id = uuidv7()
  const state = request.state && seal(ctx.ring, placeOf('state', id, app.organisationId), request.state)
  await ctx.db.insert(authorizationRequests).values({
    ...request,
    id,
    state: state || null,
    organisationId: app.organisationId,
    appId: app.id,
    sessionId: member.sessionId,
    tokenHash: digest(token),
    expiresAt: new Date(Date.now() + RequestMinutes * 60_000),
  })
  const [maker] = await ctx.db
    .select({ name: organisations.name })
    .from(organisations)
    .where(eq(organisations.id, app.organisationId))
  const theirs = await grantable(ctx.db, member)
  return {
    request: token,
    app: {
      name: app.name,
      description: app.description,
      picture: app.pictureKey && `${ctx.env.appUrl}/files/${app.pictureKey}`,
      maker: maker!.name,
    },
    scopes: request.scopes,
    goesTo: new URL(request.redirectUri).origin,
    organisations: theirs,
    organisationId: theirs.find(({ id }) => id === member.organisationId)?.id ?? theirs[0]?.id ?? null,
  }
}

// The organisations that the person may approve for, as owner or admin.
async function grantable(tx: Tx, member: Member): Promise<Consent['organisations']> {
  const rows = await tx
    .select({ id: organisations.id, name: organisations.name })
    .from(memberships)
    .innerJoin(organisations, eq(organisations.id, memberships.organisationId))
    .where(and(eq(memberships.accountId, member.id), inArray(memberships.role, ['owner', 'admin'])))
    .orderBy(organisations.name, organisations.id)
  const theirs = await tx
    .select({
      id: channels.id,
      name: channels.name,
      network: channels.network,
      organisationId: channels.organisationId,
    })
    .from(channels)
    .where(
      and(
        inArray(
          channels.organisationId,
          rows.map(({ id }) => id),
        ),
        sql`${channels.status} <> 'disconnected'`,
      ),
    )
    .orderBy(channels.createdAt)
  return rows.map((row) => ({
    ...row,
    channels: theirs
      .filter(({ organisationId }) => organisationId === row.id)
      .map(({ id, name, network }) => ({ id, name, network })),
  }))
}

async function approve(
  ctx: Deciding,
  tx: Tx,
  app: AppRow,
  kept: KeptRequest,
  input: { organisationId?: string | undefined; channelIds?: string[] | undefined },
): Promise<string> {
  const organisation = (await grantable(tx, ctx.actor)).find(
    ({ id }) => id === (input.organisationId ?? ctx.actor.organisationId),
  )
  if (!organisation)
    throw new Failure('role_too_low', {
      detail: 'Only owners and admins of an organisation may approve an app for it.',
    })
  demandChannels(input.channelIds, organisation.channels)
  const [grant] = await tx
    .insert(grants)
    .values({
      organisationId: organisation.id,
      appId: app.id,
      approvedBy: ctx.actor.id,
      approvedByName: ctx.actor.name,
      scopes: kept.scopes,
      channelIds: input.channelIds ?? null,
    })
    .returning({ id: grants.id })
  const code = mintToken()
  await tx.insert(authorizationCodes).values({
    organisationId: organisation.id,
    grantId: grant!.id,
    appId: app.id,
    codeHash: digest(code),
    redirectUri: kept.redirectUri,
    wasRedirectNamed: kept.wasRedirectNamed,
    codeChallenge: kept.codeChallenge,
    expiresAt: sql`now() + ${CodeMinutes} * interval '1 minute'`,
  })
  const detail = { scopes: kept.scopes, channelIds: input.channelIds ?? 'all' }
  const deed = {
    action: 'consent.approved',
    by: by(ctx.actor),
    address: ctx.address,
    subject: { id: app.id, name: app.name },
    detail,
  }
  await record(tx, { organisationId: organisation.id, ...deed })
  await noteAttempt(tx, app, {
    step: 'consent',
    outcome: 'ok',
    description: `Approved for ${organisation.name}.`,
    address: ctx.address,
  })
  return answerUrl(wayOf(ctx, kept), ctx.env.baseUrl, { code })
}

async function deny(ctx: Deciding, tx: Tx, app: AppRow, kept: KeptRequest): Promise<string> {
  const { organisationId } = ctx.actor
  const deed = {
    action: 'consent.denied',
    by: by(ctx.actor),
    address: ctx.address,
    subject: { id: app.id, name: app.name },
  }
  await record(tx, { organisationId, ...deed })
  await noteAttempt(tx, app, {
    step: 'consent',
    outcome: 'access_denied',
    description: 'The person denied it.',
    address: ctx.address,
  })
  return answerUrl(wayOf(ctx, kept), ctx.env.baseUrl, {
    error: 'access_denied',
    error_description: 'The person denied the request.',
  })
}

function demandChannels(wanted: string[] | undefined, theirs: { id: string }[]): void {
  if (wanted === undefined) return
  const isTheirs = wanted.every((id) => theirs.some((channel) => channel.id === id))
  if (isTheirs && wanted.length > 0) return
  const message =
    wanted.length === 0 ? 'Choose at least one channel.' : 'There is no such channel in this organisation.'
  throw new Failure('unprocessable', { errors: [{ path: 'channelIds', code: 'channel_not_found', message }] })
}

function sameAnswer({ ring }: Context, kept: KeptRequest): string {
  const isFresh = kept.decidedAt !== null && Date.now() - kept.decidedAt.getTime() < SameAnswerSeconds * 1000
  if (!isFresh || !kept.answer) throw new Failure('consent_expired')
  return open(ring, placeOf('answer', kept.id, kept.organisationId), kept.answer)
}

function wayOf({ ring }: Context, { id, organisationId, redirectUri, wasRedirectNamed, state }: KeptRequest): Way {
  const opened = state && open(ring, placeOf('state', id, organisationId), state)
  return { redirectUri, wasRedirectNamed, state: opened }
}

function placeOf(field: 'state' | 'answer', id: string, organisationId: string): Place {
  return { table: 'authorization_requests', id, organisationId, field }
}
