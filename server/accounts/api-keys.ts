import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { apiKeys } from '../../db/schema/accounts.ts'
import { recordBy } from '../access/audit.ts'
import { defaultScopes, type Scope } from '../access/scopes.ts'
import { digest, mintApiKey } from '../access/secrets.ts'
import { owner, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import { NewKey } from './forms.ts'

export const keys = router({
  /** The organisation's active and expired keys, newest first. */
  list: owner.query(async ({ ctx: { db, organisationId } }) => {
    const rows = await db
      .select()
      .from(apiKeys)
      .where(and(eq(apiKeys.organisationId, organisationId), isNull(apiKeys.revokedAt)))
      .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      last4: row.last4,
      scopes: row.scopes as Scope[],
      createdAt: row.createdAt.toISOString(),
      expiresAt: row.expiresAt?.toISOString() ?? null,
      lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
      expired: row.expiresAt !== null && row.expiresAt <= new Date(),
    }))
  }),

  /** `key` is shown only once: we store only its digest. */
  create: owner.input(NewKey).mutation(async ({ ctx, input }) => {
    const { organisationId, actor } = ctx
    if (input.expiresAt && input.expiresAt <= new Date()) {
      throw new Failure('unprocessable', {
        errors: [
          { path: 'expiresAt', code: 'date_in_past', message: 'This date is in the past. Choose a later date.' },
        ],
      })
    }
    return ctx.db.transaction(async (tx) => {
      const made = await createKey(tx, {
        organisationId,
        createdBy: actor.id,
        ...input,
        expiresAt: input.expiresAt ?? null,
      })
      const subject = { id: made.id, name: input.name }
      const detail = { scopes: input.scopes ?? defaultScopes }
      await recordBy(tx, ctx, { action: 'key.created', subject, detail })
      return made
    })
  }),

  revoke: owner.input(ById).mutation(({ ctx, input: { id } }) =>
    ctx.db.transaction(async (tx) => {
      const [revoked] = await tx
        .update(apiKeys)
        .set({ revokedAt: sql`now()` })
        .where(and(eq(apiKeys.id, id), eq(apiKeys.organisationId, ctx.organisationId), isNull(apiKeys.revokedAt)))
        .returning({ name: apiKeys.name })
      if (!revoked) throw new Failure('not_found')
      await recordBy(tx, ctx, { action: 'key.revoked', subject: { id, name: revoked.name } })
    }),
  ),
})

/** Create a key for an organisation. `key` is shown only once. */
export async function createKey(
  tx: Tx,
  wanted: {
    organisationId: string
    createdBy: string
    name: string
    scopes?: Scope[] | undefined
    expiresAt: Date | null
  },
): Promise<{ id: string; key: string }> {
  const key = mintApiKey()
  const [row] = await tx
    .insert(apiKeys)
    .values({ ...wanted, scopes: wanted.scopes ?? defaultScopes, keyHash: digest(key), last4: key.slice(-4) })
    .returning({ id: apiKeys.id })
  return { id: row!.id, key }
}
