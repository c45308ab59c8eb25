import { and, eq, isNull, sql } from 'drizzle-orm'
import { grants } from '../../db/schema/oauth.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { recordBy } from '../access/audit.ts'
import type { Scope } from '../access/scopes.ts'
import { owner, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import { removeWebhooksOf } from '../webhooks/webhooks.ts'

/** An app that an organisation has approved. `id` is the app's. One entry may cover several consents. */
export type ApprovedApp = {
  id: string
  name: string
  description: string
  picture: string | null
  maker: string
  scopes: Scope[] // of all its consents together
  channels: { id: string; name: string }[] | null // null: all
  approvals: { by: string; at: string }[] // newest first
  tokens: number // that still work
  lastUsedAt: string | null
}

export const approvedApps = router({
  /** The apps that the organisation has approved. `isMine`: the signed-in person approved it. */
  list: signedIn.query(
    async ({ ctx: { db, env, organisationId, actor } }): Promise<(ApprovedApp & { isMine: boolean })[]> => {
      const rows = await db.execute<Row>(sql`
      with live as (
        select g.*, t.id as token_id, t.last_used_at from grants g left join access_tokens t on t.grant_id = g.id
        where g.organisation_id = ${organisationId} and g.revoked_at is null and (t.id is not null or exists (
          select from authorization_codes c where c.grant_id = g.id and c.expires_at > now())))
      select a.id, a.name, a.description, a.picture_key as "pictureKey", o.name as maker,
        (select array_agg(distinct s) from live h, unnest(h.scopes) s where h.app_id = a.id) as scopes,
        bool_or(g.channel_ids is null) as all,
        (select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name) order by c.name), '[]') from channels c
          where c.organisation_id = ${organisationId}
            and c.id = any(select unnest(h.channel_ids) from live h where h.app_id = a.id)) as channels,
        json_agg(json_build_object('by', g.approved_by_name, 'at', g.created_at) order by g.created_at desc) as approvals,
        bool_or(g.approved_by = ${actor.id}) as "isMine",
        count(g.token_id)::int as tokens, max(g.last_used_at) as "lastUsedAt"
      from live g join apps a on a.id = g.app_id join organisations o on o.id = a.organisation_id
      group by a.id, o.name order by a.name, a.id`)
      return [...rows].map(({ pictureKey, all, ...row }) => ({
        ...row,
        picture: pictureKey && `${env.appUrl}/files/${pictureKey}`,
        channels: all ? null : row.channels,
        approvals: row.approvals.map((approval) => ({ ...approval, at: iso(approval.at) })),
        lastUsedAt: iso(row.lastUsedAt),
      }))
    },
  ),

  /** Revoke this organisation's tokens for an app. Those of other organisations stay. */
  revoke: owner.input(ById).mutation(({ ctx, input: { id } }) =>
    ctx.db.transaction(async (tx) => {
      const { organisationId } = ctx
      // The app before its grants: the order in which deleting an app locks them.
      const [app] = await tx.execute<{ name: string }>(sql`
        select name from apps a where id = ${id} and exists (
          select from grants g where g.app_id = a.id and g.organisation_id = ${organisationId} and g.revoked_at is null)
        for key share`)
      const isLetIn = and(eq(grants.appId, id), eq(grants.organisationId, organisationId), isNull(grants.revokedAt))
      const revoked = await tx.update(grants).set({ revokedAt: sql`now()` }).where(isLetIn).returning({ id: grants.id })
      if (!app || revoked.length === 0) throw new Failure('not_found')
      const gone = revoked.map(({ id }) => id)
      await removeWebhooksOf(tx, organisationId, gone)
      await recordBy(tx, ctx, { action: 'consent.revoked', subject: { id, name: app.name } })
    }),
  ),
})

type Row = Omit<ApprovedApp, 'picture' | 'channels'> & {
  pictureKey: string | null
  all: boolean
  channels: { id: string; name: string }[]
  isMine: boolean
}
