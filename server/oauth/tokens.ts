import { and, eq, isNull, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { accessTokens, appSecrets, apps, grants } from '../../db/schema/oauth.ts'
import { record } from '../access/audit.ts'
import { boundFailures } from '../access/login-throttle.ts'
import { challengeOf, digest, mintAccessToken, sameDigest } from '../access/secrets.ts'
import type { Installation } from '../access/trpc.ts'
import { removeWebhooksOf } from '../webhooks/webhooks.ts'
import { noteAttempt } from './apps.ts'
import { isRegistered } from './authorization-request.ts'

const ReplayGraceSeconds = 10 // a retry after a lost response is not theft
const UnknownClient = 'The client is unknown or its secret is wrong.'
const WrongSecret = 'The client secret is wrong or has expired.'
const NoSecret = 'client_secret is missing. Send it in the body or with HTTP Basic.'

/** An error of the token, revocation and introspection endpoints (RFC 6749 §5.2). The message is its description: ASCII, echoing nothing. */
export class OAuthError extends Error {
  readonly error: 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'unsupported_grant_type'
  constructor(error: OAuthError['error'], description: string) {
    super(description)
    this.error = error
  }
}

/** The credentials that a client sends; null for those that are missing or unreadable. */
export type ClientCredentials = { clientId: string | null; secret: string | null }

/** Where a call comes from and goes to, before its client is known. */
export type CallOrigin = { endpoint: Endpoint; address: string }

/** An endpoint that authenticates clients, by the last step of its path. */
export type Endpoint = 'token' | 'revoke' | 'introspect'

/** An app that has shown its secret. */
export type Client = typeof apps.$inferSelect

/** The body of a successful exchange (RFC 6749 §5.1) with our `id` and `cus`. */
export type TokenAnswer = { id: string; cus: null; access_token: string; token_type: 'bearer'; scope: string }

/**
 * The app whose id and secret are `shown` (RFC 6749 §2.3.1). During a rotation's overlap both secrets are good.
 *
 * Throws OAuthError `invalid_client`, and Failure `rate_limited` once too many have failed from that address.
 */
export async function authenticateClient(
  { db, env }: Pick<Installation, 'db' | 'env'>,
  shown: ClientCredentials,
  origin: CallOrigin,
): Promise<Client> {
  const { endpoint, address } = origin
  const named: { app: Client | null } = { app: null }
  const client = await boundFailures(db, { perMinute: env.authRateLimit, address }, async () => {
    const app = await clientNamed(db, shown.clientId)
    named.app = app
    return app && (await hasSecret(db, app, shown.secret)) ? app : null
  })
  if (client) return client
  const description = shown.secret === null ? NoSecret : WrongSecret
  if (named.app) await noteAttempt(db, named.app, { step: endpoint, outcome: 'invalid_client', description, address })
  throw new OAuthError('invalid_client', shown.secret === null ? NoSecret : UnknownClient)
}

/**
 * Swap an authorization code for an access token (RFC 6749 §4.1.3; PKCE RFC 7636 §4.6).
 *
 * `client` has been authenticated. One statement redeems the code, so that of many exchanges at once one wins.
 * Throws OAuthError `invalid_grant` when the code is unknown, expired (10 minutes), used or another client's, or the
 * redirect URI or the verifier is not its own; a use again more than 10 s later also revokes the token that it gave (§4.1.2).
 * It throws after the commit, so that the recorded attempt and the revocation stay.
 */
export async function exchange(db: Db, client: Client, given: Given, address: string): Promise<TokenAnswer> {
  const answer = await db.transaction(async (tx) => {
    // The app before its code and its grant: the order in which deleting an app locks them.
    const [app] = await tx.select().from(apps).where(eq(apps.id, client.id)).for('key share')
    if (!app) return null // deleted since it showed its secret
    const token = mintAccessToken()
    const redeemed = await redeem(tx, app, given, token)
    if (!redeemed) return refuse(tx, app, given, address)
    const { organisationId, scopes } = redeemed
    await record(tx, { organisationId, action: 'token.issued', ...auditFieldsOf(client), address })
    await noteAttempt(tx, client, { step: 'token', outcome: 'ok', address })
    return {
      id: organisationId,
      cus: null,
      access_token: token,
      token_type: 'bearer' as const,
      scope: scopes.join(' '),
    }
  })
  if (answer) return answer
  throw new OAuthError(
    'invalid_grant',
    'The code is unknown, expired, used, or its redirect_uri or code_verifier does not match.',
  )
}

/** Revoke a token (RFC 7009). An unknown one counts as revoked; another client's stays, and throws `invalid_grant` (§2.1). */
export async function revoke(db: Db, client: Client, token: string, address: string): Promise<void> {
  const [found] = await db
    .select({ appId: accessTokens.appId, grantId: accessTokens.grantId })
    .from(accessTokens)
    .where(eq(accessTokens.tokenHash, digest(token)))
  if (!found) return
  if (found.appId !== client.id) throw new OAuthError('invalid_grant', 'The token was issued to another client.')
  await db.transaction((tx) => endGrant(tx, client, found.grantId, address))
}

/** What a client may know about a token (RFC 7662 §2.2): everything about its own active ones; any other is "not active". */
export async function introspect(db: Db, client: Client, issuer: string, token: string) {
  const [found] = await db
    .select({ organisationId: accessTokens.organisationId, createdAt: accessTokens.createdAt, scopes: grants.scopes })
    .from(accessTokens)
    .innerJoin(grants, eq(grants.id, accessTokens.grantId))
    .where(and(eq(accessTokens.tokenHash, digest(token)), eq(accessTokens.appId, client.id), isNull(grants.revokedAt)))
  if (!found) return { active: false as const }
  return {
    active: true as const,
    client_id: client.clientId,
    scope: found.scopes.join(' '),
    token_type: 'bearer' as const,
    sub: found.organisationId,
    iss: issuer,
    iat: Math.floor(found.createdAt.getTime() / 1000),
  }
}

async function clientNamed(db: Db, clientId: string | null): Promise<Client | null> {
  if (clientId === null) return null
  const [app] = await db.select().from(apps).where(eq(apps.clientId, clientId))
  return app ?? null
}

async function hasSecret(db: Db, app: Client, secret: string | null): Promise<boolean> {
  if (secret === null) return false
  const secrets = await db
    .select({ hash: appSecrets.secretHash })
    .from(appSecrets)
    .where(and(eq(appSecrets.appId, app.id), sql`(${appSecrets.expiresAt} is null or ${appSecrets.expiresAt} > now())`))
  const given = digest(secret)
  return secrets.filter(({ hash }) => sameDigest(hash, given)).length > 0
}

function auditFieldsOf({ id, name }: Client) {
  return { by: { kind: 'app' as const, id, name }, subject: { id, name } }
}

// A token ends with its grant.
async function endGrant(tx: Tx, client: Client, id: string, address: string, detail = {}): Promise<void> {
  const [ended] = await tx
    .update(grants)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(grants.id, id), eq(grants.appId, client.id), isNull(grants.revokedAt)))
    .returning({ organisationId: grants.organisationId })
  if (!ended) return
  await removeWebhooksOf(tx, ended.organisationId, [id])
  await record(tx, { ...ended, action: 'token.revoked', ...auditFieldsOf(client), address, detail })
}

async function redeem(
  tx: Tx,
  client: Client,
  { code, redirectUri, verifier }: Given,
  token: string,
): Promise<{ organisationId: string; scopes: string[] } | null> {
  const kept = await codeOf(tx, client, code)
  if (!kept?.isRegistered) return null
  const challenge = verifier === null ? null : challengeOf(verifier)
  const [row] = await tx.execute<{ organisationId: string; scopes: string[] }>(sql`
      with redeemed as (
        update authorization_codes c set redeemed_at = now() from grants g
        where c.id = ${kept.id} and c.redeemed_at is null and c.expires_at > now()
          and g.id = c.grant_id and g.revoked_at is null
          and (c.redirect_uri = ${redirectUri} or (${redirectUri}::text is null and not c.was_redirect_named))
          and c.code_challenge is not distinct from ${challenge}
        returning c.grant_id, c.organisation_id, c.app_id, g.scopes
      ), issued as (
        insert into access_tokens (id, organisation_id, grant_id, app_id, token_hash)
        select ${uuidv7()}, organisation_id, grant_id, app_id, ${digest(token)} from redeemed
      )
      select organisation_id as "organisationId", scopes from redeemed`)
  return row ?? null
}

/** What an exchange shows of the authorization request; null for what it left out. */
type Given = { code: string; redirectUri: string | null; verifier: string | null }

type KeptCode = {
  id: string
  grantId: string
  redirectUri: string
  wasRedirectNamed: boolean
  codeChallenge: string | null
  isRegistered: boolean // its redirect URL still is
  isRedeemed: boolean
  isReplay: boolean
  isRevoked: boolean
  isExpired: boolean
}

async function codeOf(tx: Tx, client: Client, code: string): Promise<KeptCode | null> {
  const [row] = await tx.execute<Omit<KeptCode, 'isRegistered'>>(sql`
    select c.id, c.grant_id as "grantId", c.redirect_uri as "redirectUri", c.was_redirect_named as "wasRedirectNamed",
      c.code_challenge as "codeChallenge", c.redeemed_at is not null as "isRedeemed",
      coalesce(c.redeemed_at < now() - ${ReplayGraceSeconds} * interval '1 second', false) as "isReplay",
      g.revoked_at is not null as "isRevoked", c.expires_at <= now() as "isExpired"
    from authorization_codes c join grants g on g.id = c.grant_id
    where c.code_hash = ${digest(code)} and c.app_id = ${client.id}`)
  return row ? { ...row, isRegistered: isRegistered(client.redirectUris, row.redirectUri) } : null
}

// Record the reason for the developer, and revoke the token of a code that is used again. Null: the caller throws after the commit.
async function refuse(tx: Tx, client: Client, given: Given, address: string): Promise<null> {
  const kept = await codeOf(tx, client, given.code) // anew: another exchange may have redeemed it meanwhile
  const description = whyNotRedeemed(kept, given)
  await noteAttempt(tx, client, { step: 'token', outcome: 'invalid_grant', description, address })
  if (kept?.isReplay) await endGrant(tx, client, kept.grantId, address, { reason: 'the code was used again' }) // §4.1.2
  return null
}

function whyNotRedeemed(kept: KeptCode | null, given: Given): string {
  if (!kept) return 'The code is unknown, or belongs to another client.'
  if (kept.isReplay) return 'The code was already used. Its token is now revoked.'
  if (kept.isRedeemed) return 'The code was used a moment ago.'
  if (kept.isRevoked) return 'The organisation has since revoked the app.'
  if (kept.isExpired) return 'The code has expired. Codes are valid for 10 minutes.'
  if (!kept.isRegistered) return 'The redirect URL that the code was sent to is no longer registered.'
  return whatDiffers(kept, given)
}

function whatDiffers({ redirectUri, wasRedirectNamed, codeChallenge }: KeptCode, given: Given): string {
  if (given.redirectUri === null && wasRedirectNamed)
    return `redirect_uri is missing. The authorization request had ${redirectUri}.`
  if (given.redirectUri !== null && given.redirectUri !== redirectUri)
    return `redirect_uri is ${given.redirectUri.slice(0, 300)}. The authorization request had ${redirectUri}.`
  if (codeChallenge === null) return 'code_verifier was sent, but the authorization request had no code_challenge.'
  if (given.verifier === null) return 'code_verifier is missing. The authorization request had a code_challenge.'
  return 'code_verifier does not match the code_challenge of the authorization request.'
}
