import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { type Operator, recordByOperator } from '../access/audit.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { digest, isApiKey } from '../access/secrets.ts'
import { Failure } from '../errors.ts'

// What operators can look up in all organisations: names, ids and states, never a text or a credential.

const FoundAtMost = 20 // of each kind

/** An organisation as operators list it. */
export type OrganisationSummary = {
  id: string
  name: string
  createdAt: string
  suspendedAt: string | null
  people: number
  channels: number // without the disconnected ones
  scheduledPosts: number
  lastPublishedAt: string | null
}

/** A page of all organisations, newest first. Throws `invalid_request` for an invalid cursor. */
export async function organisationsIn(
  db: Db,
  limit: number,
  cursor: string | undefined,
): Promise<Page<OrganisationSummary>> {
  const after = positionOf(cursor)
  const rows = await db.execute<OrganisationSummary>(sql`
    with listed as materialized (
      select * from organisations ${after ? sql`where (created_at, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
      order by created_at desc, id desc limit ${limit + 1}
    ), published as (
      select organisation_id as id, max(published_at) as at from deliveries
      where organisation_id in (select id from listed) group by organisation_id
    )
    select o.id, o.name, o.created_at as "createdAt", o.suspended_at as "suspendedAt", published.at as "lastPublishedAt",
      (select count(*) from memberships m where m.organisation_id = o.id)::int as people,
      (select count(*) from channels c where c.organisation_id = o.id and c.status <> 'disconnected')::int as channels,
      (select count(*) from posts p where p.organisation_id = o.id and p.told = 'SCHEDULED')::int as "scheduledPosts"
    from listed o left join published using (id) order by o.created_at desc, o.id desc`)
  return pageOf(
    [...rows],
    limit,
    (row) => ({
      ...row,
      createdAt: iso(row.createdAt),
      suspendedAt: row.suspendedAt && iso(row.suspendedAt),
      lastPublishedAt: iso(row.lastPublishedAt),
    }),
    ({ createdAt, id }) => [iso(createdAt), id],
  )
}

/** A search result with its organisation. An account is listed once for each of its organisations. */
export type SearchResult = { kind: string; id: string; name: string | null; organisation: OwningOrganisation | null }

type OwningOrganisation = { id: string; name: string; suspendedAt: string | null }

/**
 * What `text` may be: the id of anything, an e-mail address, a part of a name (of an organisation, a person, a channel, a key), an
 * API key or its last four characters. At most 20 of each kind.
 */
export async function find(db: Db, text: string): Promise<SearchResult[]> {
  const id = sql`id::text = ${text.toLowerCase()}`
  const named = sql`strpos(lower(name), ${text.toLowerCase()}) > 0`
  const key = isApiKey(text) ? sql`key_hash = ${digest(text)}` : sql`last4 = ${text}`
  const rows = await db.execute<SearchResult>(sql`
    select kind, found.id, found.name, case when o.id is not null then json_build_object('id', o.id, 'name', o.name, 'suspendedAt', o.suspended_at) end as organisation
    from (
      (select 'organisation' as kind, id, name, id as organisation_id from organisations where ${id} or ${named} limit ${FoundAtMost})
      union all (select 'account', a.id, a.email, m.organisation_id
        from (select * from accounts where ${id} or ${named} or lower(email) = ${text.toLowerCase()} limit ${FoundAtMost}) a
        left join memberships m on m.account_id = a.id)
      union all (select 'channel', id, name, organisation_id from channels
        where ${id} or ${named} or lower(handle) = ${text.toLowerCase()} limit ${FoundAtMost})
      union all (select 'post', id, null, organisation_id from posts where ${idIn(text)})
      union all (select 'delivery', id, null, organisation_id from deliveries where ${idIn(text)})
      union all (select 'media', id, null, organisation_id from media where ${idIn(text)})
      union all (select 'api_key', id, name, organisation_id from api_keys where ${id} or ${named} or ${key} limit ${FoundAtMost})
      union all (select 'webhook', id, null, organisation_id from webhooks where ${id})
      union all (select 'app', id, name, organisation_id from apps where ${id} or ${named} or client_id = ${text} limit ${FoundAtMost})
    ) found left join organisations o on o.id = found.organisation_id
    order by kind, found.name, found.id`)
  return [...rows].map(({ organisation, ...result }) => ({
    ...result,
    organisation: organisation && { ...organisation, suspendedAt: iso(organisation.suspendedAt) },
  }))
}

// By its index, because there may be millions. An invalid id finds nothing.
function idIn(text: string) {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
  return isId ? sql`id = ${text}::uuid` : sql`false`
}

/** Revoke an API key of any organisation. A revoked one keeps its time. Throws `not_found`. */
export async function revokeKey(db: Db, operator: Operator, id: string) {
  return db.transaction(async (tx) => {
    type Key = { id: string; name: string; last4: string; organisationId: string; revokedAt: string; isNew: boolean }
    const [key] = await tx.execute<Key>(sql`
      update api_keys k set revoked_at = coalesce(k.revoked_at, now())
      from (select id, revoked_at is null as "isNew" from api_keys where id::text = ${id.toLowerCase()} for update) as before
      where k.id = before.id
      returning k.id, name, last4, organisation_id as "organisationId", k.revoked_at as "revokedAt", "isNew"`)
    if (!key) throw new Failure('not_found', { detail: 'API key not found.' })
    const { isNew, organisationId, ...shown } = key
    if (isNew)
      await recordByOperator(tx, operator, {
        organisationId,
        action: 'key.revoked',
        subject: { id: key.id, name: key.name },
      })
    return { ...shown, organisationId, revokedAt: iso(key.revokedAt) }
  })
}
