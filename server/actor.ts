import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { Env } from '../db/env.ts'
import { accessTokens, accounts, apiKeys, apps, grants, memberships, type Role, sessions } from '../db/schema.ts'
import type { Scope } from './forms.ts'
import { digest, isAccessToken, isApiKey } from './secrets.ts'

/** Who is calling, and for which organisation: exactly one. */
export type Actor =
  | {
      kind: 'member'
      id: string // the account
      name: string
      email: string
      timeZone: string
      sessionId: string
      organisationId: string
      role: Role
    }
  | { kind: 'api_key'; id: string; name: string; organisationId: string; scopes: Scope[] }
  | {
      kind: 'app' // an access token; `id` is the app's
      id: string
      name: string
      organisationId: string
      grantId: string // the consent that it came from
      scopes: Scope[]
      channelIds: string[] | null // null: all of the organisation
    }

/** Whether `email` is that of an operator of the installation, in whatever case it is written. */
export function isOperator({ operators }: Pick<Env, 'operators'>, email: string): boolean {
  return operators.includes(email.toLowerCase())
}

/** The member that a session cookie stands for, or null. Its `last_used_at` is written at most once a minute. */
export async function memberOf(db: Db, sessionToken: string): Promise<Actor | null> {
  const [row] = await db
    .select({
      id: accounts.id,
      name: accounts.name,
      email: accounts.email,
      timeZone: accounts.timeZone,
      sessionId: sessions.id,
      organisationId: sessions.organisationId,
      role: memberships.role,
      stale: sql<boolean>`${sessions.lastUsedAt} < now() - interval '1 minute'`,
    })
    .from(sessions)
    .innerJoin(accounts, eq(accounts.id, sessions.accountId))
    .innerJoin(
      memberships,
      and(eq(memberships.accountId, sessions.accountId), eq(memberships.organisationId, sessions.organisationId)),
    )
    .where(and(eq(sessions.tokenHash, digest(sessionToken)), gt(sessions.expiresAt, sql`now()`)))
  if (!row) return null
  const { stale, ...member } = row
  if (stale) await db.update(sessions).set({ lastUsedAt: sql`now()` }).where(eq(sessions.id, member.sessionId))
  return { kind: 'member', ...member }
}

/**
 * The credential in an Authorization header: the whole value, or what follows `Bearer` in any case.
 * Null when there is none.
 */
export function credentialIn(header: string | undefined): string | null {
  const value = header?.trim().replace(/^bearer\s+/i, '')
  return value ? value : null
}

/** Whom a credential of the public API stands for, or null when it is unknown, revoked or expired. */
export async function credentialHolder(db: Db, credential: string): Promise<Actor | null> {
  if (isApiKey(credential)) return keyHolder(db, credential)
  return isAccessToken(credential) ? tokenHolder(db, credential) : null
}

async function keyHolder(db: Db, credential: string): Promise<Actor | null> {
  const [key] = await db
    .select({
      id: apiKeys.id,
      name: apiKeys.name,
      organisationId: apiKeys.organisationId,
      scopes: apiKeys.scopes,
      stale: sql<boolean>`${apiKeys.lastUsedAt} is null or ${apiKeys.lastUsedAt} < now() - interval '1 minute'`,
    })
    .from(apiKeys)
    .where(
      and(
        eq(apiKeys.keyHash, digest(credential)),
        isNull(apiKeys.revokedAt),
        or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)),
      ),
    )
  if (!key) return null
  if (key.stale) await db.update(apiKeys).set({ lastUsedAt: sql`now()` }).where(eq(apiKeys.id, key.id))
  return {
    kind: 'api_key',
    id: key.id,
    name: key.name,
    organisationId: key.organisationId,
    scopes: key.scopes as Scope[],
  }
}

// A token ends with its grant and its app, and outlives its approver.
async function tokenHolder(db: Db, credential: string): Promise<Actor | null> {
  const [token] = await db
    .select({
      id: accessTokens.id,
      grantId: grants.id,
      appId: apps.id,
      name: apps.name,
      organisationId: accessTokens.organisationId,
      scopes: grants.scopes,
      channelIds: grants.channelIds,
      stale: sql<boolean>`${accessTokens.lastUsedAt} is null or ${accessTokens.lastUsedAt} < now() - interval '1 minute'`,
    })
    .from(accessTokens)
    .innerJoin(grants, eq(grants.id, accessTokens.grantId))
    .innerJoin(apps, eq(apps.id, accessTokens.appId))
    .where(and(eq(accessTokens.tokenHash, digest(credential)), isNull(grants.revokedAt)))
  if (!token) return null
  if (token.stale) await db.update(accessTokens).set({ lastUsedAt: sql`now()` }).where(eq(accessTokens.id, token.id))
  const { appId, name, organisationId, grantId, channelIds } = token
  return { kind: 'app', id: appId, name, organisationId, grantId, scopes: token.scopes as Scope[], channelIds }
}
