import { readFile } from 'node:fs/promises'
import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../db/client.ts'
import { appAttempts, appSecrets, apps as appsTable } from '../../db/schema/oauth.ts'
import { recordBy } from '../access/audit.ts'
import { digest, mintClientId, mintClientSecret } from '../access/secrets.ts'
import { owner, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import { MediaError } from '../media/format.ts'
import { fitPicture } from '../media/images.ts'
import { CreateApp, DeleteApp, RotateSecret, SetAppPicture, UpdateApp } from './forms.ts'

const AttemptsKept = 50 // of each step

export const apps = router({
  list: owner.query(async ({ ctx: { db, env, organisationId } }) => {
    const rows = await db
      .select()
      .from(appsTable)
      .where(eq(appsTable.organisationId, organisationId))
      .orderBy(desc(appsTable.createdAt), desc(appsTable.id))
    return rows.map((row) => showApp(row, env.appUrl))
  }),

  /** An app, the last characters of its secrets, and its latest attempts. */
  get: owner.input(ById).query(async ({ ctx: { db, env, organisationId }, input: { id } }) => {
    const app = await appOf(db, organisationId, id)
    const secrets = await db
      .select({
        id: appSecrets.id,
        last4: appSecrets.last4,
        createdAt: appSecrets.createdAt,
        expiresAt: appSecrets.expiresAt,
      })
      .from(appSecrets)
      .where(and(isOfApp(appSecrets, app), sql`(${appSecrets.expiresAt} is null or ${appSecrets.expiresAt} > now())`))
      .orderBy(desc(appSecrets.createdAt))
    const tried = await db.select().from(appAttempts).where(isOfApp(appAttempts, app)).orderBy(desc(appAttempts.id))
    return {
      ...showApp(app, env.appUrl),
      secrets: secrets.map((secret) => ({
        ...secret,
        createdAt: secret.createdAt.toISOString(),
        expiresAt: secret.expiresAt?.toISOString() ?? null,
      })),
      attempts: tried.map(({ id, at, step, outcome, description, address }) => ({
        id,
        at: at.toISOString(),
        step,
        outcome,
        description,
        address,
      })),
    }
  }),

  /** `clientSecret` is shown only once: we store only its digest. */
  create: owner.input(CreateApp).mutation(({ ctx, input }) =>
    ctx.db.transaction(async (tx) => {
      const { organisationId, actor } = ctx
      const [app] = await tx
        .insert(appsTable)
        .values({ organisationId, ...input, clientId: mintClientId(), createdBy: actor.id })
        .returning()
      const clientSecret = await addSecret(tx, app!)
      await recordBy(tx, ctx, { action: 'app.created', subject: app! })
      return { ...showApp(app!, ctx.env.appUrl), clientSecret }
    }),
  ),

  update: owner.input(UpdateApp).mutation(({ ctx, input: { id, ...change } }) =>
    ctx.db.transaction(async (tx) => {
      const { organisationId } = ctx
      const before = await appOf(tx, organisationId, id, 'no key update') // of two changes at once, each names the one before
      const [app] = await tx
        .update(appsTable)
        .set(change)
        .where(and(eq(appsTable.id, id), eq(appsTable.organisationId, organisationId)))
        .returning()
      const detail = {
        redirectUris: change.redirectUris,
        formerRedirectUris: before.redirectUris,
        formerName: before.name,
      }
      await recordBy(tx, ctx, { action: 'app.updated', subject: { id, name: change.name }, detail })
      return showApp(app!, ctx.env.appUrl)
    }),
  ),

  /** Store a picture that the HTTP handler has streamed to the temporary `path`. The handler removes it. */
  setPicture: owner.input(SetAppPicture).mutation(async ({ ctx, input: { id, path } }) => {
    const { db, env, files, organisationId } = ctx
    await appOf(db, organisationId, id)
    const pictureKey = await fitPicture(files, await readFile(path), organisationId).catch(notAPicture)
    return db.transaction(async (tx) => {
      const [app] = await tx
        .update(appsTable)
        .set({ pictureKey })
        .where(and(eq(appsTable.id, id), eq(appsTable.organisationId, organisationId)))
        .returning()
      if (!app) throw new Failure('not_found')
      await recordBy(tx, ctx, { action: 'app.updated', subject: app, detail: { picture: 'changed' } })
      return showApp(app, env.appUrl)
    })
  }),

  /** Remove the picture and its file. */
  removePicture: owner.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const { db, files, organisationId } = ctx
    const { pictureKey, name } = await appOf(db, organisationId, id)
    if (!pictureKey) return
    await db.transaction(async (tx) => {
      const isIt = and(eq(appsTable.id, id), eq(appsTable.organisationId, organisationId))
      await tx
        .update(appsTable)
        .set({ pictureKey: null })
        .where(and(isIt, eq(appsTable.pictureKey, pictureKey)))
      await recordBy(tx, ctx, { action: 'app.updated', subject: { id, name }, detail: { picture: 'removed' } })
    })
    await files.remove(pictureKey)
  }),

  /** Create a new secret, shown only once. The old one fails immediately, or after 24 h with `overlap`. Tokens keep working. */
  rotate: owner.input(RotateSecret).mutation(({ ctx, input: { id, overlap } }) =>
    ctx.db.transaction(async (tx) => {
      const app = await appOf(tx, ctx.organisationId, id, 'no key update') // of two rotations at once, the later secret stays
      const isCurrent = and(isOfApp(appSecrets, app), isNull(appSecrets.expiresAt))
      if (overlap) await tx.update(appSecrets).set({ expiresAt: sql`now() + interval '24 hours'` }).where(isCurrent)
      else await tx.delete(appSecrets).where(isOfApp(appSecrets, app))
      const clientSecret = await addSecret(tx, app)
      await recordBy(tx, ctx, { action: 'app.secret_rotated', subject: app, detail: { overlap } })
      return { clientSecret }
    }),
  ),

  /** Delete an app after its name was typed: its tokens, codes and secrets go with it, everywhere. */
  delete: owner.input(DeleteApp).mutation(({ ctx, input: { id, name } }) =>
    ctx.db.transaction(async (tx) => {
      const { organisationId } = ctx
      const app = await appOf(tx, organisationId, id)
      if (name !== app.name)
        throw new Failure('unprocessable', {
          errors: [{ path: 'name', code: 'name_differs', message: `Type ${app.name} to delete it.` }],
        })
      await tx.delete(appsTable).where(and(eq(appsTable.id, id), eq(appsTable.organisationId, organisationId)))
      await recordBy(tx, ctx, { action: 'app.deleted', subject: app })
    }),
  ),
})

/**
 * Record an attempt with an app, for its developer: no secret, no code. `address` only for the app's own calls.
 * The newest 50 of each step are kept: anybody can fill one step, but that hides nothing of the others.
 */
export async function noteAttempt(
  tx: Tx,
  app: { id: string },
  attempt: { step: string; outcome: string; description?: string; address?: string },
): Promise<void> {
  const { step, outcome, description = null, address = null } = attempt
  // If the app is deleted meanwhile, there is no developer to show this to.
  await tx.execute(sql`
    insert into app_attempts (id, app_id, organisation_id, step, outcome, description, address)
    select ${uuidv7()}, id, organisation_id, ${step}, ${outcome}, ${description}, ${address}
      from apps where id = ${app.id} for key share`)
  await tx.execute(sql`
    delete from app_attempts where id in (
      select id from app_attempts where app_id = ${app.id} and step = ${step}
      order by id desc offset ${AttemptsKept} for update skip locked)`)
}

/** An app as its owners see it. */
export type App = {
  id: string
  clientId: string
  name: string
  description: string
  picture: string | null
  redirectUris: string[]
  createdAt: string
}

type AppRow = typeof appsTable.$inferSelect

async function appOf(tx: Tx, organisationId: string, id: string, lock?: 'no key update'): Promise<AppRow> {
  const isIt = and(eq(appsTable.id, id), eq(appsTable.organisationId, organisationId))
  const read = tx.select().from(appsTable).where(isIt)
  const [app] = await (lock ? read.for(lock) : read)
  if (!app) throw new Failure('not_found')
  return app
}

function isOfApp(table: typeof appSecrets | typeof appAttempts, { id, organisationId }: AppRow) {
  return and(eq(table.appId, id), eq(table.organisationId, organisationId))
}

async function addSecret(tx: Tx, { id, organisationId }: AppRow): Promise<string> {
  const secret = mintClientSecret()
  await tx.insert(appSecrets).values({ appId: id, organisationId, secretHash: digest(secret), last4: secret.slice(-4) })
  return secret
}

function notAPicture(error: unknown): never {
  if (!(error instanceof MediaError)) throw error
  const fault = { path: 'picture', code: error.code, message: error.message }
  throw new Failure('media_not_accepted', { detail: error.message, errors: [fault], cause: error })
}

function showApp(row: AppRow, appUrl: string): App {
  const { id, clientId, name, description, redirectUris } = row
  const picture = row.pictureKey && `${appUrl}/files/${row.pictureKey}`
  return { id, clientId, name, description, picture, redirectUris, createdAt: row.createdAt.toISOString() }
}
