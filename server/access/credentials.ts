import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { Env } from '../../db/env.ts'
import { accounts, apiKeys, memberships, organisations, type Role, sessions } from '../../db/schema/accounts.ts'
import { accessTokens } from '../../db/schema/oauth.ts'
import { type Count, counting, MinuteSeconds } from './rate-limit.ts'
import type { Scope } from './scopes.ts'
import { digest, isAccessToken, isApiKey } from './secrets.ts'

/** Who is calling, and for which organisation: exactly one. */
export type Actor =
  | {
      kind: 'member'
      id: string // the account
      name: string
      email: string
      timeZone: string
      weekStart: number | null // 1 is Monday; null: by the browser's language
      clock: number | null // 12 or 24 hours; null: by the browser's language
      sessionId: string
      organisationId: string
      isSuspended: boolean // the organisation, by an operator: it can read
      role: Role
    }
  | { kind: 'api_key'; id: string; name: string; organisationId: string; isSuspended: boolean; scopes: Scope[] }
  | {
      kind: 'app' // an access token; `id` is the app's
      id: string
      name: string
      organisationId: string
      isSuspended: boolean
      grantId: string // the consent that it came from
      scopes: Scope[]
      channelIds: string[] | null // null: all of the organisation
    }

/** A person who is signed in. */
export type MemberActor = Extract<Actor, { kind: 'member' }>

/** Whether `email` belongs to an operator of the installation. Upper and lower case are the same. */
export function isOperator({ operators }: Pick<Env, 'operators'>, email: string): boolean {
  return operators.includes(email.toLowerCase())
}

/** The member whose session cookie this is, or null. Writes `last_used_at` at most once a minute. */
export async function memberOf(db: Db, sessionToken: string): Promise<MemberActor | null> {
  const [row] = await db
    .select({
      id: accounts.id,
      name: accounts.name,
      email: accounts.email,
      timeZone: accounts.timeZone,
      weekStart: accounts.weekStart,
      clock: accounts.clock,
      sessionId: sessions.id,
      organisationId: sessions.organisationId,
      isSuspended: sql<boolean>`${organisations.suspendedAt} is not null`,
      role: memberships.role,
      stale: sql<boolean>`${sessions.lastUsedAt} < now() - interval '1 minute'`,
    })
    .from(sessions)
    .innerJoin(accounts, eq(accounts.id, sessions.accountId))
    .innerJoin(organisations, eq(organisations.id, sessions.organisationId))
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

/** The owner of a credential, and the requests of its organisation in this minute. Null: requests are not counted. */
export type Holder = { actor: Actor; count: Count | null }

/**
 * The owner of a credential of the public API, or null when it is unknown, revoked or expired. With `isCounted`, this
 * request counts for the organisation.
 */
export async function credentialHolder(db: Db, credential: string, isCounted = false): Promise<Holder | null> {
  if (isApiKey(credential)) return keyHolder(db, credential, isCounted)
  return isAccessToken(credential) ? tokenHolder(db, credential, isCounted) : null
}

async function keyHolder(db: Db, credential: string, isCounted: boolean): Promise<Holder | null> {
  const holder = sql`
    select id, name, organisation_id as "organisationId", ${isOfSuspended(sql`organisation_id`)} as "isSuspended", scopes,
      ${isStale(sql`last_used_at`)} as stale from api_keys
    where key_hash = ${digest(credential)} and revoked_at is null and (expires_at is null or expires_at > now())`
  const [key] = await db.execute<CredentialRow>(withCount(holder, keyColumns, isCounted))
  if (!key) return null
  const { id, name, organisationId, isSuspended, scopes } = key
  if (key.stale) await db.update(apiKeys).set({ lastUsedAt: sql`now()` }).where(eq(apiKeys.id, id))
  return { actor: { kind: 'api_key', id, name, organisationId, isSuspended, scopes }, count: countIn(key) }
}

// A token ends with its grant and its app, and outlives its approver.
async function tokenHolder(db: Db, credential: string, isCounted: boolean): Promise<Holder | null> {
  const holder = sql`
    select t.id as "tokenId", g.id as "grantId", a.id, a.name, t.organisation_id as "organisationId",
      ${isOfSuspended(sql`t.organisation_id`)} as "isSuspended", g.scopes, g.channel_ids as "channelIds", ${isStale(sql`t.last_used_at`)} as stale
    from access_tokens t join grants g on g.id = t.grant_id join apps a on a.id = t.app_id
    where t.token_hash = ${digest(credential)} and g.revoked_at is null`
  type Token = CredentialRow & { tokenId: string; grantId: string; channelIds: string[] | null }
  const [token] = await db.execute<Token>(withCount(holder, tokenColumns, isCounted))
  if (!token) return null
  const { id, tokenId, name, organisationId, isSuspended, grantId, scopes, channelIds } = token
  if (token.stale) await db.update(accessTokens).set({ lastUsedAt: sql`now()` }).where(eq(accessTokens.id, tokenId))
  return {
    actor: { kind: 'app', id, name, organisationId, isSuspended, grantId, scopes, channelIds },
    count: countIn(token),
  }
}

type CredentialRow = Pick<Actor, 'id' | 'name' | 'organisationId' | 'isSuspended'> & {
  scopes: Scope[]
  stale: boolean
} & Partial<Count>

const keyColumns = sql`id, name, "organisationId", "isSuspended", scopes, stale`
const tokenColumns = sql`${keyColumns}, "tokenId", "grantId", "channelIds"`

// One statement: this is before every request.
function withCount(holder: SQL, columns: SQL, isCounted: boolean): SQL {
  if (!isCounted) return holder
  const organisation = sql`select 'organisation:' || "organisationId" from holder`
  return sql`with holder as (${holder}), counted as (${counting(organisation, MinuteSeconds)}) select ${columns}, used, "resetSeconds" from holder, counted`
}

function isOfSuspended(organisationId: SQL): SQL {
  return sql`exists (select from organisations o where o.id = ${organisationId} and o.suspended_at is not null)`
}

function isStale(lastUsedAt: SQL): SQL {
  return sql`(${lastUsedAt} is null or ${lastUsedAt} < now() - interval '1 minute')`
}

function countIn({ used, resetSeconds }: CredentialRow): Count | null {
  return used === undefined || resetSeconds === undefined ? null : { used, resetSeconds }
}
