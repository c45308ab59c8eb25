import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { media } from '../../../db/schema/media.ts'
import type { Fault } from '../../../server/errors.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../web.ts'

const w = worldWithOwner()

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const post = (more: object) => ({ type: 'schedule' as const, date: inAnHour(), content: 'for all', ...more })
const twoChannels = () => Promise.all([w.channel('readable'), w.channel('readable')])
const faultsOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => null,
    (error: { errors: Fault[] }) => error,
  )
  return error?.errors.map(({ path, code }) => `${path} ${code}`)
}

async function limit(channelId: string, limits: object): Promise<void> {
  const [row] = await w.db.select().from(channels).where(eq(channels.id, channelId))
  await w.db
    .update(channels)
    .set({ limits: { ...row!.limits, ...limits } })
    .where(eq(channels.id, channelId))
}

async function aFile(): Promise<string> {
  const file = { kind: 'image' as const, mime: 'image/png', bytes: 1, sha256: 'x', fileKey: 'x' }
  const [row] = await w.db
    .insert(media)
    .values({ organisationId: w.organisationId, ...file })
    .returning()
  return row!.id
}

test('a new post is answered as it is read afterwards: with its files in order, and what is its own on a channel', async () => {
  const [plain, special] = await twoChannels()
  const files = [await aFile(), await aFile(), await aFile()]
  const made = await w.api.posts.create(
    post({
      ...{ channelIds: [special, plain], mediaIds: [files[2], files[0], files[1]] },
      overrides: [{ channelId: plain, content: 'for this one', mediaIds: [files[1]] }],
    }) as never,
  )
  expect(made).toEqual(await w.api.posts.get({ id: made.id }))
  expect(made).toMatchObject({
    ...{ channelIds: [special, plain], mediaIds: [files[2], files[0], files[1]], status: 'SCHEDULED', version: 1 },
    overrides: [{ channelId: plain, content: 'for this one', mediaIds: [files[1]] }],
    deliveries: [{ channelId: special }, { channelId: plain }],
  })
  const draft = await w.api.posts.create({ type: 'draft', content: 'later', channelIds: [] } as never)
  expect(draft).toEqual(await w.api.posts.get({ id: draft.id }))
})

describe('its own text on one channel', () => {
  test('is what goes out there, while the others get the post’s', async () => {
    const [plain, special] = await twoChannels()
    const { id } = await w.api.posts.create({
      ...{ type: 'now', content: 'for all', channelIds: [plain, special] },
      overrides: [{ channelId: special, content: 'for this one' }],
    })
    await w.worker()
    await until(async () => (await w.api.posts.get({ id })).status === 'PUBLISHED')
    expect(w.fake.posts.map(({ text }) => text).sort()).toEqual(['for all', 'for this one'])
  })

  test('is shown with the post, stays at an edit of other parts, and goes when a whole new set is named', async () => {
    const [plain, special] = await twoChannels()
    const own = { channelId: special, content: 'for this one' }
    const made = await w.api.posts.create(post({ channelIds: [plain, special], overrides: [own] }) as never)
    expect(made.overrides).toEqual([own])
    const { id } = made
    expect((await w.api.posts.update({ id, content: 'changed' })).overrides).toEqual([own])
    expect((await w.api.posts.update({ id, channelIds: [special, plain] })).overrides).toEqual([own])
    const [file] = await Promise.all([aFile()])
    const both = [
      { channelId: special, mediaIds: [] },
      { channelId: plain, content: 'x', mediaIds: [file] },
    ]
    expect((await w.api.posts.update({ id, overrides: both })).overrides).toEqual(both)
    expect((await w.api.posts.update({ id, channelIds: [plain] })).overrides).toEqual([both[1]])
    expect((await w.api.posts.update({ id, channelIds: [plain, special] })).overrides).toEqual([both[1]])
    expect((await w.api.posts.update({ id, overrides: [] })).overrides).toEqual([])
  })

  test('is held to the limits of its channel, and the post’s text is not asked there', async () => {
    const [plain, small] = await twoChannels()
    await limit(small, { textLength: 5 })
    const long = post({ content: 'longer than five', channelIds: [plain, small] })
    expect(await faultsOf(w.api.posts.create(long as never))).toEqual(['content content_too_long'])
    const fits = { ...long, overrides: [{ channelId: small, content: 'short' }] }
    expect(await failureOf(w.api.posts.create(fits as never))).toBe('done')
    const tooLong = { ...long, overrides: [{ channelId: small, content: 'longer than five' }] }
    expect(await faultsOf(w.api.posts.create(tooLong as never))).toEqual(['overrides[0].content content_too_long'])
  })

  test('can stand for a post that has none, but for each of its channels', async () => {
    const [first, second] = await twoChannels()
    const empty = post({ content: '', channelIds: [first, second] })
    expect(await faultsOf(w.api.posts.create(empty as never))).toEqual(['content content_empty'])
    const half = { ...empty, overrides: [{ channelId: first, content: 'x' }] }
    expect(await faultsOf(w.api.posts.create(half as never))).toEqual(['content content_empty'])
    const blank = { ...half, content: 'x', overrides: [{ channelId: first, content: ' ' }] }
    expect(await faultsOf(w.api.posts.create(blank as never))).toEqual(['overrides[0].content content_empty'])
    const whole = { ...empty, overrides: [first, second].map((channelId) => ({ channelId, content: 'x' })) }
    expect(await failureOf(w.api.posts.create(whole as never))).toBe('done')
  })

  test('is refused for a channel that is not the post’s, twice for one, with nothing in it, or with media that is not ours', async () => {
    const [mine, other] = await twoChannels()
    const faults = (overrides: object[], type = 'schedule') =>
      faultsOf(w.api.posts.create({ ...post({ channelIds: [mine] }), type, overrides } as never))
    for (const type of ['schedule', 'draft']) {
      expect(await faults([{ channelId: other, content: 'x' }], type)).toEqual([
        'overrides[0].channelId channel_not_found',
      ])
      expect(await faults([{ channelId: mine, mediaIds: [other] }], type)).toEqual([
        'overrides[0].mediaIds[0] media_not_found',
      ])
    }
    const malformed = [[{ channelId: mine }], [{ channelId: mine, content: 'x', text: 'y' }], [{ content: 'x' }]]
    malformed.push(['a', 'b'].map((content) => ({ channelId: mine, content })))
    for (const overrides of malformed) {
      const call = w.api.posts.create({ ...post({ channelIds: [mine] }), overrides } as never)
      await expect(call).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    }
  })
})
