import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { media, postMedia } from '../../db/schema.ts'
import { aDelivery } from '../builders.ts'
import { deliveryOf, untilState, type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

test('a post whose file is gone fails with the reason, and nothing of it is sent', async () => {
  const channelId = await w.channel('readable')
  const { organisationId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() + 1000) })
  const fileKey = `${'0'.repeat(32)}.jpg`
  const file = { kind: 'image' as const, mime: 'image/jpeg', bytes: 1, sha256: '', fileKey }
  const [row] = await w.db
    .insert(media)
    .values({ organisationId, ...file })
    .returning()
  const { postId } = await deliveryOf(w.db, id)
  await w.db.insert(postMedia).values({ organisationId, postId, mediaId: row!.id, position: 0 })
  await w.worker()
  expect(await untilState(w.db, id, 'failed', 'published')).toMatchObject({
    state: 'failed',
    error: { code: 'media_gone' },
  })
  expect(w.fake.received).toHaveLength(0)
})
