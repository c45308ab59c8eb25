import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import type { apiRequests } from '../../db/schema/api.ts'

/** One request to the public API as it is kept; requests.ts shows it. */
export type ApiRequestRow = Omit<typeof apiRequests.$inferSelect, 'id'>

/** Records calls in the background: no request waits for it or fails because of it. `isPastLimit`: over its rate limit. */
export type RequestRecorder = { note(request: ApiRequestRow, isPastLimit?: boolean): void; end(): Promise<void> }

const EveryMs = 1000
const CallsAtMost = 5000
const PathLength = 300

/**
 * Record calls of the public API for their developers: collected in memory, written once a second and at `end`.
 *
 * Calls that cannot be written are lost. If more than 5,000 wait, the oldest are dropped. Of the calls of a credential
 * past its rate limit, one a second is kept: an endless loop would fill the table.
 */
export function startRequestRecorder(db: Db, log: Logger): RequestRecorder {
  let calls: ApiRequestRow[] = []
  let isDropping = false
  const pastLimit = new Set<string>() // credentials
  let writing: Promise<void> | null = null

  async function write(): Promise<void> {
    const batch = calls
    calls = []
    isDropping = false
    pastLimit.clear()
    if (batch.length > 0)
      await insert(db, batch).catch((err) => log.warn({ err, calls: batch.length }, 'API calls were not recorded'))
  }
  const timer = setInterval(() => {
    writing ??= write().finally(() => {
      writing = null
    })
  }, EveryMs)
  return {
    note(call, isPastLimit = false) {
      const isTooMuch = isPastLimit || call.problem === 'rate_limited'
      if (isTooMuch && pastLimit.has(call.credentialId)) return
      if (isTooMuch) pastLimit.add(call.credentialId)
      if (calls.length === CallsAtMost) {
        if (!isDropping) log.warn({ calls: CallsAtMost }, 'too many API calls wait to be recorded: dropping the oldest')
        isDropping = true
        calls.shift()
      }
      calls.push({ ...call, path: pathOf(call) })
    },
    async end() {
      clearInterval(timer)
      await writing
      await write()
    },
  }
}

// One parameter for any number of rows: each number of parameters would be another prepared statement.
async function insert(db: Db, calls: ApiRequestRow[]): Promise<void> {
  const rows = calls.map((call) => ({
    id: uuidv7(),
    organisation_id: call.organisationId,
    at: call.at,
    request_id: call.requestId,
    method: call.method,
    path: call.path,
    status: call.status,
    duration_ms: call.durationMs,
    credential_kind: call.credentialKind,
    credential_id: call.credentialId,
    credential_name: call.credentialName,
    problem: call.problem,
  }))
  await db.execute(sql`
    insert into api_requests (
      id, organisation_id, at, request_id, method, path, status, duration_ms, credential_kind, credential_id, credential_name, problem)
    select r.id, r.organisation_id, r.at, r.request_id, r.method, r.path, r.status, r.duration_ms, r.credential_kind,
      r.credential_id, r.credential_name, r.problem
    from jsonb_populate_recordset(null::api_requests, ${JSON.stringify(rows)}::jsonb) r
    where exists (select from organisations o where o.id = r.organisation_id)`)
}

// A credential may be in the path by mistake. Cut as bytes: a slice would keep all of a long path in memory.
function pathOf({ path }: ApiRequestRow): string {
  const beginning = Buffer.from(path.slice(0, PathLength)).toString()
  return beginning.replace(/(pak_live|pos|pcs)_[\w-]+/g, '$1_…')
}
