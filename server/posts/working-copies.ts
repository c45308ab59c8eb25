import { and, eq, type SQL, sql } from 'drizzle-orm'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { workingCopies as copies } from '../../db/schema/posts.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import type { MemberActor } from '../access/credentials.ts'
import { requireScope, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import { SaveCopy, SubmitCopy, UpdatePost } from './forms.ts'
import { readPost } from './rows.ts'
import { createPost, updatePost } from './write.ts'

// What members type into the composer, saved while they type. A copy is private and changes no post: no event is emitted
// and no caller of the API sees it. It ends when it is sent, in the same transaction.

/** What the composer's form held at `updatedAt`. `postVersion`: the post's version when the member began to type. */
export type Copy = Omit<Row, 'organisationId' | 'accountId' | 'createdAt' | 'updatedAt'> & { updatedAt: string }

type Row = typeof copies.$inferSelect

const reader = signedIn.use(({ ctx, next }) => {
  requireScope(ctx.actor, 'posts:read')
  return next()
})
const writer = signedIn.use(({ ctx, next }) => {
  requireScope(ctx.actor, 'posts:write')
  return next()
})

const ListedAtMost = 20

export const workingCopies = router({
  /** The member's copy with this id, or null. */
  get: reader.input(ById).query(async ({ ctx: { db, actor }, input: { id } }): Promise<Copy | null> => {
    const [row] = await db
      .select()
      .from(copies)
      .where(and(isTheirs(actor), eq(copies.id, id)))
    return row ? show(row) : null
  }),

  /** Whether a post with this id exists: the copy was sent. */
  isSent: reader.input(ById).query(({ ctx: { db, actor }, input: { id } }) => exists(db, actor, id)),

  /** The member's newest copies of posts that do not exist yet: how each begins. */
  list: reader.query(async ({ ctx: { db, actor } }): Promise<{ id: string; begin: string; updatedAt: string }[]> => {
    const rows = await db
      .select({ id: copies.id, begin: sql<string>`left(${copies.content}, 80)`, updatedAt: copies.updatedAt })
      .from(copies)
      .where(and(isTheirs(actor), eq(copies.isNew, true), isUnsent, hasContent))
      .orderBy(sql`${copies.updatedAt} desc, ${copies.id} desc`)
      .limit(ListedAtMost)
    return rows.map((row) => ({ ...row, updatedAt: row.updatedAt.toISOString() }))
  }),

  /**
   * Save what was typed. Returns the new revision, or null if another tab has saved since `revision`: nothing is
   * overwritten. Throws `post_exists` if the new post was already sent, and `not_found` if there is no post to change.
   */
  save: writer.input(SaveCopy).mutation(async ({ ctx: { db, actor }, input }): Promise<number | null> => {
    const { id, isNew, postVersion, revision, ...typed } = input
    if (isNew && (await exists(db, actor, id))) throw new Failure('post_exists')
    if (!isNew) await readPost(db, actor, id)
    const [saved] = await db
      .insert(copies)
      .values({ ...owned(actor), ...typed, id, isNew, postVersion, revision: 1 })
      .onConflictDoUpdate({
        target: [copies.accountId, copies.id],
        set: { ...typed, revision: sql`${copies.revision} + 1`, updatedAt: sql`now()` },
        setWhere: sql`${copies.revision} = ${revision} and ${isTheirs(actor)}`,
      })
      .returning({ revision: copies.revision })
    return saved?.revision ?? null
  }),

  discard: writer.input(ById).mutation(async ({ ctx: { db, actor }, input: { id } }) => {
    await remove(db, actor, id)
  }),

  /** Create the post that the copy `id` becomes. Pressed twice, it creates one post and returns it both times. */
  create: writer.input(SubmitCopy).mutation(async ({ ctx, input: { id, post } }): Promise<Post> => {
    const { db, actor } = ctx
    if (await exists(db, actor, id)) return readPost(db, actor, id)
    try {
      return await db.transaction(async (tx) => {
        await remove(tx, actor, id)
        return createPost(tx, ctx, post, id)
      })
    } catch (error) {
      if (sqlStateOf(error) !== UniqueViolation) throw error
      return readPost(db, actor, id) // the other press was first
    }
  }),

  /** Change a post as PATCH /posts/{id} does, and end the copy. */
  update: writer.input(UpdatePost).mutation(({ ctx, input }) =>
    ctx.db.transaction(async (tx) => {
      const post = await updatePost(tx, ctx, input)
      await remove(tx, ctx.actor, input.id)
      return post
    }),
  ),
})

const UniqueViolation = '23505'

function owned({ id, organisationId }: MemberActor) {
  return { accountId: id, organisationId }
}

function isTheirs({ id, organisationId }: MemberActor): SQL | undefined {
  return and(eq(copies.accountId, id), eq(copies.organisationId, organisationId))
}

// A save that was on its way while the post was created leaves a copy that nobody needs (jobs/sweep/rows.ts).
const isUnsent = sql`not exists (select from posts p where p.id = ${copies.id})`

const hasContent = sql`(${copies.content} <> '' or ${copies.mediaIds} <> '{}')`

async function exists(tx: Tx, { organisationId }: MemberActor, id: string): Promise<boolean> {
  const [row] = await tx.execute(sql`select from posts where id = ${id} and organisation_id = ${organisationId}`)
  return row !== undefined
}

async function remove(tx: Tx, actor: MemberActor, id: string): Promise<void> {
  await tx.delete(copies).where(and(isTheirs(actor), eq(copies.id, id)))
}

function show({ organisationId: _, accountId: __, createdAt: ___, updatedAt, ...row }: Row): Copy {
  return { ...row, updatedAt: updatedAt.toISOString() }
}
