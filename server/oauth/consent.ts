import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { memberships, organisations } from '../../db/schema/accounts.ts'
import { channels } from '../../db/schema/channels.ts'
import { type apps, authorizationCodes, type authorizationRequests, grants } from '../../db/schema/oauth.ts'
import { recordBy } from '../access/audit.ts'
import type { MemberActor } from '../access/credentials.ts'
import { digest, mintToken } from '../access/secrets.ts'
import type { Context } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { noteAttempt } from './apps.ts'

// What a decision does, and for which organisations a person may decide.

const CodeMinutes = 10

/** An organisation that a person may approve for. */
export type Grantable = { id: string; name: string; channels: { id: string; name: string; network: string }[] }

type AppRow = typeof apps.$inferSelect
type KeptRequest = typeof authorizationRequests.$inferSelect
type Deciding = Context & { actor: MemberActor }
type Choice = { organisationId?: string | undefined; channelIds?: string[] | undefined }

/** The organisations that the person may approve for, as owner or admin, and their channels. */
export async function grantable(tx: Tx, member: MemberActor): Promise<Grantable[]> {
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

/**
 * Approve an app. Returns the parameters of the answer: a code, valid for 10 minutes.
 *
 * Throws `role_too_low` where the person may not approve, and `unprocessable` for a channel that is not the organisation's.
 */
export async function approve(
  ctx: Deciding,
  tx: Tx,
  app: AppRow,
  kept: KeptRequest,
  input: Choice,
): Promise<Record<string, string>> {
  const organisation = await chosen(ctx, tx, input)
  if (!organisation)
    throw new Failure('role_too_low', {
      detail: 'Only owners and admins can approve an app for an organisation.',
    })
  requireChannels(input.channelIds, organisation.channels)
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
  await recordBy(tx, ctx, { organisationId: organisation.id, action: 'consent.approved', subject: app, detail })
  await noteAttempt(tx, app, { step: 'consent', outcome: 'ok', description: `Approved for ${organisation.name}.` })
  return { code }
}

/** Deny an app. Anybody may; the audit log records it only for people who could have approved it. */
export async function deny(
  ctx: Deciding,
  tx: Tx,
  app: AppRow,
  _kept: KeptRequest,
  input: Choice,
): Promise<Record<string, string>> {
  const organisation = await chosen(ctx, tx, input)
  if (organisation) await recordBy(tx, ctx, { organisationId: organisation.id, action: 'consent.denied', subject: app })
  await noteAttempt(tx, app, { step: 'consent', outcome: 'access_denied', description: 'The person denied it.' })
  return { error: 'access_denied' }
}

async function chosen(
  { actor }: Deciding,
  tx: Tx,
  { organisationId = actor.organisationId }: Choice,
): Promise<Grantable | undefined> {
  return (await grantable(tx, actor)).find(({ id }) => id === organisationId)
}

function requireChannels(wanted: string[] | undefined, theirs: { id: string }[]): void {
  if (wanted === undefined || wanted.every((id) => theirs.some((channel) => channel.id === id))) return
  const message = 'Channel not found in this organisation.'
  throw new Failure('unprocessable', { errors: [{ path: 'channelIds', code: 'channel_not_found', message }] })
}
