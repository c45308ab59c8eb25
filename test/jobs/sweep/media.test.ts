import { randomBytes, randomUUID } from 'node:crypto'
import { access, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { FileNotFound, type Files } from '../../../db/files/files.ts'
import { localFiles } from '../../../db/files/local.ts'
import { channels } from '../../../db/schema/channels.ts'
import { feedItems } from '../../../db/schema/feeds.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { media, postMedia } from '../../../db/schema/media.ts'
import { apps } from '../../../db/schema/oauth.ts'
import { deletedDrafts, workingCopies } from '../../../db/schema/posts.ts'
import { sweepMedia } from '../../../jobs/sweep/media.ts'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'

const log = pino({ level: 'silent' })
let database: Awaited<ReturnType<typeof testDatabase>>
let dataDir: string
let files: Files
let organisationId: string
let accountId: string
let channelId: string
beforeAll(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'sweep '))
  files = localFiles(dataDir)
})
beforeEach(async () => {
  ;({ organisationId, accountId } = await anOrganisation(database.db))
  channelId = await aChannel(database.db, randomBytes(32), { organisationId, network: 'feed' })
})
afterAll(async () => {
  await database.end()
  await rm(dataDir, { recursive: true })
})

const Day = 24 * 3600 * 1000
const daysAgo = (days: number) => new Date(Date.now() - days * Day)

/** A stored file that is `days` old. */
async function aFile(days: number, extension = 'jpg'): Promise<string> {
  const key = `${randomBytes(16).toString('hex')}.${extension}`
  await files.write(key, Buffer.from(key))
  await utimes(join(dataDir, 'files', key.slice(0, 2), key), daysAgo(days), daysAgo(days))
  return key
}

type Made = { id: string; fileKey: string; thumbnailKey: string }

async function aMedia(days: number, shared?: Made): Promise<Made> {
  const fileKey = shared?.fileKey ?? (await aFile(days))
  const thumbnailKey = shared?.thumbnailKey ?? (await aFile(days, 'webp'))
  const what = { kind: 'image', mime: 'image/jpeg', bytes: 1, sha256: fileKey } as const
  const row = { organisationId, ...what, fileKey, thumbnailKey, createdAt: daysAgo(days) }
  const [made] = await database.db.insert(media).values(row).returning({ id: media.id })
  return { id: made!.id, fileKey, thumbnailKey }
}

/** Sweeps at each hour of a day: each hour handles a sixteenth of the stored files. */
async function sweepAll() {
  const begun = Date.now()
  for (let hour = 0; hour < 16; hour++) {
    const now = () => new Date(begun + hour * 3600 * 1000)
    await sweepMedia({ db: database.db, files, log, now }, new AbortController().signal)
  }
}
const isThere = async (key: string) => {
  try {
    return (await files.bytesOf(key)) > 0
  } catch (error) {
    if (error instanceof FileNotFound) return false
    throw error
  }
}
const rowsOf = async (id: string) => (await database.db.select().from(media).where(eq(media.id, id))).length

async function aPost(mediaId: string, way: 'its own' | 'on one channel'): Promise<void> {
  const deliveryId = await aDelivery(database.db, { organisationId, channelId, dueAt: daysAgo(-30) })
  const [row] = await database.db.select().from(deliveries).where(eq(deliveries.id, deliveryId))
  if (way === 'its own')
    await database.db.insert(postMedia).values({ organisationId, postId: row!.postId, mediaId, position: 0 })
  else
    await database.db
      .update(deliveries)
      .set({ mediaIds: [mediaId] })
      .where(eq(deliveries.id, deliveryId))
}

test('a week-old media that no post uses is deleted with its files; younger and used media stay', async () => {
  const [old, young, posted, overridden] = [await aMedia(8), await aMedia(6), await aMedia(8), await aMedia(8)]
  await aPost(posted.id, 'its own')
  await aPost(overridden.id, 'on one channel')
  await database.db
    .update(deliveries)
    .set({ mediaIds: sql`media_ids || null::uuid` })
    .where(eq(deliveries.organisationId, organisationId))

  await sweepAll()

  expect([await rowsOf(old.id), await isThere(old.fileKey), await isThere(old.thumbnailKey)]).toEqual([0, false, false])
  for (const { id, fileKey, thumbnailKey } of [young, posted, overridden])
    expect([await rowsOf(id), await isThere(fileKey), await isThere(thumbnailKey)]).toEqual([1, true, true])
})

test('a file of a text that somebody has not sent yet stays', async () => {
  const used = await aMedia(8)
  const copy = { id: randomUUID(), isNew: true, revision: 1, content: '', channelIds: [], mediaIds: [used.id] }
  await database.db.insert(workingCopies).values({ organisationId, accountId, ...copy, alts: {}, date: '', time: '' })

  await sweepAll()

  expect(await rowsOf(used.id)).toBe(1)
  expect(await isThere(used.fileKey)).toBe(true)
})

test('a file that only one channel gets in a text that somebody has not sent yet stays', async () => {
  const [used, unused] = [await aMedia(8), await aMedia(8)]
  const overrides = [{ channelId: randomUUID() }, { channelId: randomUUID(), mediaIds: [randomUUID(), used.id] }]
  const copy = { id: randomUUID(), isNew: true, revision: 1, content: '', channelIds: [], mediaIds: [], overrides }
  await database.db.insert(workingCopies).values({ organisationId, accountId, ...copy, alts: {}, date: '', time: '' })

  await sweepAll()

  expect([await rowsOf(used.id), await isThere(used.fileKey)]).toEqual([1, true])
  expect(await rowsOf(unused.id)).toBe(0)
})

test('a file of a draft that was deleted in the last day stays, for Undo', async () => {
  const used = await aMedia(8)
  const rows = { post: {}, deliveries: [], media: [] }
  await database.db.insert(deletedDrafts).values({ id: randomUUID(), organisationId, ...rows, mediaIds: [used.id] })

  await sweepAll()

  expect(await rowsOf(used.id)).toBe(1)
  expect(await isThere(used.fileKey)).toBe(true)
})

test('a file stays while another row uses it', async () => {
  const old = await aMedia(8)
  const used = await aMedia(8, old)
  await aPost(used.id, 'its own')

  await sweepAll()

  expect([await rowsOf(old.id), await rowsOf(used.id)]).toEqual([0, 1])
  expect([await isThere(used.fileKey), await isThere(used.thumbnailKey)]).toEqual([true, true])
})

test('a picture that a feed, a channel or an app still shows stays', async () => {
  const [inFeed, ofChannel, ofApp, stray] = await Promise.all([aFile(9), aFile(9), aFile(9), aFile(9)])
  const wasMedia = await aMedia(9)
  const shown = (key: string) => ({
    ...{ url: `https://punctual.example/files/${key}`, mime: 'image/jpeg', bytes: 1, alt: '', width: 1, height: 1 },
  })
  const item = { id: randomBytes(8).toString('hex'), organisationId, channelId, content: '' }
  await database.db.insert(feedItems).values({ ...item, media: [shown(inFeed!), shown(wasMedia.fileKey)] })
  await database.db.update(channels).set({ pictureKey: ofChannel! }).where(eq(channels.id, channelId))
  const app = { organisationId, clientId: item.id, name: 'Shop', redirectUris: ['https://shop.example/'] }
  await database.db.insert(apps).values({ ...app, pictureKey: ofApp! })

  await sweepAll()

  for (const key of [inFeed!, ofChannel!, ofApp!, wasMedia.fileKey]) expect(await isThere(key)).toBe(true)
  expect([await isThere(stray!), await rowsOf(wasMedia.id)]).toEqual([false, 0])
})

test('a stored file that no row names is deleted after a week, and so is the rest of a broken upload', async () => {
  const [old, young] = [await aFile(8), await aFile(6)]
  const [half, coming] = [await files.temporary(), await files.temporary()]
  for (const path of [half, coming]) await writeFile(path, 'x')
  await utimes(half, daysAgo(8), daysAgo(8))

  await sweepAll()

  expect([await isThere(old), await isThere(young)]).toEqual([false, true])
  await expect(access(half)).rejects.toMatchObject({ code: 'ENOENT' })
  await access(coming)
})

test('a post that is made while the sweep runs keeps its file', async () => {
  for (let round = 0; round < 10; round++) {
    const { id, fileKey } = await aMedia(8)
    const post = database.db.transaction(async (tx) => {
      const held = await tx.execute(sql`select id from media where id = ${id} for key share`)
      if (held.count === 0) return false
      const deliveryId = await aDelivery(tx as unknown as typeof database.db, {
        organisationId,
        channelId,
        dueAt: daysAgo(-30),
      })
      await tx
        .update(deliveries)
        .set({ mediaIds: [id] })
        .where(eq(deliveries.id, deliveryId))
      return true
    })
    const [wasMade] = await Promise.all([
      post,
      sweepMedia({ db: database.db, files, log }, new AbortController().signal),
    ])
    expect([await rowsOf(id), await isThere(fileKey)]).toEqual(wasMade ? [1, true] : [0, false])
  }
})

test('one sweep deletes more than one batch', async () => {
  const what = { kind: 'image', mime: 'image/jpeg', bytes: 1, createdAt: daysAgo(8) } as const
  const rows = Array.from({ length: 250 }, () => ({
    organisationId,
    ...what,
    sha256: 'x',
    fileKey: randomBytes(16).toString('hex'),
  }))
  await database.db.insert(media).values(rows)
  await sweepMedia({ db: database.db, files, log }, new AbortController().signal)
  expect(await database.db.select().from(media).where(eq(media.organisationId, organisationId))).toHaveLength(0)
})
