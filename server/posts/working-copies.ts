import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { v5 as uuidv5 } from 'uuid'
import type { z } from 'zod'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { memberships } from '../../db/schema/accounts.ts'
import { workingCopies as copies } from '../../db/schema/posts.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import type { MemberActor } from '../access/credentials.ts'
import { requireScope, router, signedIn } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import { SaveCopy, SubmitChange, SubmitCopy } from './forms.ts'
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
  isSent: reader.input(ById).query(async ({ ctx: { db, actor }, input: { id } }) => {
    return (await sentAs(db, actor, id)) === id
  }),

  /** Whether the member has this copy in another organisation: its id is not free in this one. */
  isElsewhere: reader.input(ById).query(async ({ ctx: { db, actor }, input: { id } }) => {
    const theirs = and(
      eq(copies.accountId, actor.id),
      eq(copies.id, id),
      ne(copies.organisationId, actor.organisationId),
    )
    return (await db.$count(copies, theirs)) > 0
  }),

  /** The member's newest copies of posts that do not exist yet: how each begins. */
  list: reader.query(async ({ ctx: { db, actor } }): Promise<{ id: string; begin: string; updatedAt: string }[]> => {
    const rows = await db
      .select({ id: copies.id, begin: sql<string>`left(${anyText}, 80)`, updatedAt: copies.updatedAt })
      .from(copies)
      .where(and(isTheirs(actor), eq(copies.isNew, true), isUnsent, hasContent))
      .orderBy(sql`${copies.updatedAt} desc, ${copies.id} desc`)
      .limit(NewAtMost)
    return rows.map((row) => ({ ...row, updatedAt: row.updatedAt.toISOString() }))
  }),

  /**
   * Save what was typed. Returns the new revision, or null if another tab has saved since `revision`: nothing is
   * overwritten. Throws `post_exists` if the new post was already sent, `not_found` if there is no post to change, and
   * `unprocessable` if the member has too many new posts that are not sent. A copy that is there can always be saved.
   */
  save: writer.input(SaveCopy).mutation(async ({ ctx: { db, actor }, input }): Promise<number | null> => {
    const { id, isNew } = input
    if (isNew && (await sentAs(db, actor, id))) throw new Failure('post_exists')
    if (!isNew) await readPost(db, actor, id)
    if (!isNew || (await isKept(db, actor, id))) return put(db, actor, input)
    return db.transaction(async (tx) => {
      await makeRoom(tx, actor)
      return put(tx, actor, input)
    })
  }),

  /** The channels of the last new post that the member sent from the composer. Some may be gone. */
  lastChannels: reader.query(async ({ ctx: { db, actor } }): Promise<string[]> => {
    const [row] = await db.select({ ids: memberships.lastChannelIds }).from(memberships).where(isMembership(actor))
    return row?.ids ?? []
  }),

  discard: writer.input(ById).mutation(async ({ ctx: { db, actor }, input: { id } }) => {
    await remove(db, actor, id)
  }),

  /** Create the post that the copy `id` becomes. Pressed twice, it creates one post and returns it both times. */
  create: writer.input(SubmitCopy).mutation(async ({ ctx, input: { id, post, alts } }): Promise<Post> => {
    const { db, actor } = ctx
    const sent = await sentAs(db, actor, id)
    if (sent) return readPost(db, actor, sent)
    try {
      return await db.transaction(async (tx) => {
        await remove(tx, actor, id)
        await saveAlts(tx, actor, alts)
        const made = await createPost(tx, ctx, post, await freeId(tx, actor, id))
        await tx.update(memberships).set({ lastChannelIds: made.channelIds }).where(isMembership(actor))
        return made
      })
    } catch (error) {
      if (sqlStateOf(error) !== UniqueViolation) throw error
      return readPost(db, actor, (await sentAs(db, actor, id)) ?? id) // the other press was first
    }
  }),

  /** Change a post as PATCH /posts/{id} does, and end the copy. */
  update: writer.input(SubmitChange).mutation(({ ctx, input: { change, alts } }) =>
    ctx.db.transaction(async (tx) => {
      await saveAlts(tx, ctx.actor, alts)
      const post = await updatePost(tx, ctx, change)
      await remove(tx, ctx.actor, change.id)
      return post
    }),
  ),
})

const UniqueViolation = '23505'

const NewAtMost = 100 // of about 1 MB, which is as much as a form can have

/** Throws `unprocessable` if the member has too many copies of new posts. Those that no page lists go after a day. */
async function makeRoom(tx: Tx, actor: MemberActor): Promise<void> {
  await tx.select({ lock: sql`1` }).from(memberships).where(isMembership(actor)).for('no key update')
  const theirNew = and(isTheirs(actor), eq(copies.isNew, true), isUnsent)
  if ((await tx.$count(copies, theirNew)) < NewAtMost) return
  await tx
    .delete(copies)
    .where(and(theirNew, sql`not ${hasContent} and ${copies.updatedAt} < now() - interval '1 day'`))
  if ((await tx.$count(copies, theirNew)) < NewAtMost) return
  throw new Failure('unprocessable', { errors: [tooMany] })
}

const tooMany = {
  path: '',
  code: 'too_many_copies' as const,
  message: `You have ${NewAtMost} unfinished posts. Send or discard one of them on the page New post first.`,
}

async function put(tx: Tx, actor: MemberActor, copy: z.output<typeof SaveCopy>): Promise<number | null> {
  const { id, isNew, postVersion, revision, ...typed } = copy
  const [saved] = await tx
    .insert(copies)
    .values({ ...owned(actor), ...typed, id, isNew, postVersion, revision: 1 })
    .onConflictDoUpdate({
      target: [copies.accountId, copies.id],
      set: { ...typed, revision: sql`${copies.revision} + 1`, updatedAt: sql`now()` },
      setWhere: sql`${copies.revision} = ${revision} and ${isTheirs(actor)}`,
    })
    .returning({ revision: copies.revision })
  return saved?.revision ?? null
}

/** Give files their alt texts, by media id, before the post is checked with them. Files that are gone are left out. */
async function saveAlts(tx: Tx, actor: MemberActor, alts: Record<string, string>): Promise<void> {
  if (Object.keys(alts).length === 0) return
  requireScope(actor, 'media:write')
  await tx.execute(sql`
    with known as (
      select m.id, a.value from jsonb_each_text(${JSON.stringify(alts)}::jsonb) a join media m on m.id = a.key::uuid
      where m.organisation_id = ${actor.organisationId} order by m.id for no key update of m
    )
    update media m set alt = k.value from known k where m.id = k.id and m.organisation_id = ${actor.organisationId}`)
}

function owned({ id, organisationId }: MemberActor) {
  return { accountId: id, organisationId }
}

function isTheirs({ id, organisationId }: MemberActor): SQL | undefined {
  return and(eq(copies.accountId, id), eq(copies.organisationId, organisationId))
}

function isMembership({ id, organisationId }: MemberActor): SQL | undefined {
  return and(eq(memberships.accountId, id), eq(memberships.organisationId, organisationId))
}

// A save that was on its way while the post was created leaves a copy that nobody needs (jobs/sweep/rows.ts).
const isUnsent = sql`not exists (
  select from posts p where p.id = ${copies.id} and p.organisation_id = ${copies.organisationId})`

const hasContent = sql`(${copies.content} <> '' or ${copies.mediaIds} <> '{}' or ${copies.overrides} <> '[]')`

// The text for all channels, else the first one that a channel has of its own.
const anyText = sql`coalesce(nullif(${copies.content}, ''), jsonb_path_query_first(${copies.overrides}, '$[*].content') #>> '{}', '')`

/** The id of the post that the copy has become, or null. */
async function sentAs(tx: Tx, { organisationId }: MemberActor, id: string): Promise<string | null> {
  const ids = [id, otherId(organisationId, id)]
  const [row] = await tx.execute<{ id: string }>(sql`
    select id from posts where id = any(${sql.param(ids)}::uuid[]) and organisation_id = ${organisationId}`)
  return row?.id ?? null
}

/** The copy's id, or another one if a post of another organisation has it, or had it until its draft was deleted. */
async function freeId(tx: Tx, { organisationId }: MemberActor, id: string): Promise<string> {
  const isTaken = sql`id = ${id} and organisation_id <> ${organisationId}`
  const [taken] = await tx.execute(sql`
    select from posts where ${isTaken} union all select from deleted_drafts where ${isTaken}`)
  return taken ? otherId(organisationId, id) : id
}

// Always the same, so that a second press finds the post.
function otherId(organisationId: string, id: string): string {
  return uuidv5(id, organisationId)
}

// In any organisation: a copy's id is free once for an account.
async function isKept(tx: Tx, { id: accountId }: MemberActor, id: string): Promise<boolean> {
  return (await tx.$count(copies, and(eq(copies.accountId, accountId), eq(copies.id, id)))) > 0
}

async function remove(tx: Tx, actor: MemberActor, id: string): Promise<void> {
  await tx.delete(copies).where(and(isTheirs(actor), eq(copies.id, id)))
}

function show({ organisationId: _, accountId: __, createdAt: ___, updatedAt, ...row }: Row): Copy {
  return { ...row, updatedAt: updatedAt.toISOString() }
}
