import { type SQL, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { iso } from '../../jobs/ledger/post-view.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { owner, router } from '../access/trpc.ts'
import { ListRequests } from './forms.ts'

/** A request to the public API, as the organisation's developers see it. */
export type ApiRequest = {
  id: string
  at: string
  requestId: string
  method: string
  path: string
  status: number
  durationMs: number
  credentialKind: 'api_key' | 'app'
  credentialId: string
  credentialName: string
  problem: string | null
}

export const requests = router({
  /** The calls of the last 7 days with a credential of the organisation, newest first. */
  list: owner
    .input(ListRequests)
    .query(async ({ ctx: { db, organisationId }, input: { limit, cursor, ...filters } }): Promise<Page<ApiRequest>> => {
      const after = positionOf(cursor)
      const where = [
        sql`organisation_id = ${organisationId}`,
        ...conditionsOf(filters),
        ...(after ? [sql`(at, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`] : []),
      ]
      const rows = await db.execute<ApiRequest>(sql`
        select id, at, request_id as "requestId", method, path, status, duration_ms as "durationMs",
          credential_kind as "credentialKind", credential_id as "credentialId", credential_name as "credentialName", problem
        from api_requests where ${sql.join(where, sql` and `)}
        order by at desc, id desc limit ${limit + 1}`)
      return pageOf(
        [...rows],
        limit,
        (row) => ({ ...row, at: iso(row.at) }),
        ({ at, id }) => [iso(at), id],
      )
    }),
})

type Filters = Omit<z.output<typeof ListRequests>, 'limit' | 'cursor'>

function conditionsOf({ credential, method, status, problem, path, requestId, from, to }: Filters): SQL[] {
  return [
    ...(credential ? [sql`credential_id = ${credential}`] : []),
    ...(method ? [sql`method = ${method}`] : []),
    ...(status ? [statusIs(status)] : []),
    ...(problem ? [sql`problem = ${problem}`] : []),
    ...(path ? [sql`starts_with(path, ${wholePath(path)})`] : []),
    ...(requestId ? [sql`request_id = ${requestId}`] : []),
    ...(from ? [sql`at >= ${from.toISOString()}::timestamptz`] : []),
    ...(to ? [sql`at < ${to.toISOString()}::timestamptz`] : []),
  ]
}

// The documentation names paths without what they all begin with.
function wholePath(path: string): string {
  return path.startsWith('/public/') ? path : `/public/v1/${path.replace(/^\//, '')}`
}

function statusIs(status: string): SQL {
  if (!/xx$/i.test(status)) return sql`status = ${Number(status)}`
  const first = Number(status[0]) * 100
  return sql`status between ${first} and ${first + 99}`
}
