import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import type { Api } from '../../../server/router.ts'
import { aDelivery, anOrganisation } from '../../builders.ts'
import { type FakeMastodon, fakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'
import { until } from '../../processes.ts'
import { connectAt } from '../../server/channels/consent.ts'
import { ownerIn } from '../../server/web.ts'
import { deliveryOf, untilState, type World, world } from '../../world.ts'

// A real worker, and a server that revokes our access after a send, before we can read whether the post is there.

const Send = 'POST /api/v1/statuses'
const List = 'GET /api/v1/accounts/11/statuses'

let w: World
let api: Api
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  w = await world()
  api = await ownerOf(w.organisationId)
  await w.worker()
})
afterAll(async () => {
  for (const close of closing) await close()
  await w.end()
})

async function ownerOf(organisationId: string): Promise<Api> {
  const owner = await ownerIn({ ...w, organisationId })
  closing.push(owner.close)
  return owner.api
}

/** A post with an unknown outcome that needs review, because its account can't be read any more. `isOut`: whether it
 * is there. */
async function aPostInDoubt(context: TestContext, { isOut, text = 'Is it out?' }: { isOut: boolean; text?: string }) {
  const server = await fakeMastodon()
  context.onTestFinished(server.close)
  const { id: channelId } = await connectAt(api, server)
  server.next(Send, isOut ? 'reset after' : 'reset before')
  const { organisationId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(), text })
  await untilState(w.db, id, 'uncertain')
  server.tokens.clear()
  const { postId } = await untilState(w.db, id, 'needs_review')
  return { server, channelId, id, postId }
}

const asked = ({ received }: FakeMastodon, wanted: string) => received.filter(({ route }) => route === wanted).length
const untilLooked = (id: string) => until(async () => (await deliveryOf(w.db, id)).lookAt === null)

describe.concurrent('a post with an unknown outcome, on a channel that lost its access', () => {
  test('is found after the channel is reconnected', async (context) => {
    const { server, channelId, id } = await aPostInDoubt(context, { isOut: true })
    await connectAt(api, server, channelId)
    const remoteId = server.statuses[0]!.id
    expect(await untilState(w.db, id, 'published')).toMatchObject({ evidence: 'found', remoteId })
    expect([server.statuses.length, asked(server, Send)]).toEqual([1, 1])
  })

  test('stays in review when it is not there; the error says that we looked, and only the member’s decision sends it again', async (context) => {
    const { server, channelId, id, postId } = await aPostInDoubt(context, { isOut: false })
    await connectAt(api, server, channelId)
    await untilLooked(id)
    const error = { message: expect.stringContaining('did not see the post') }
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'needs_review', maybeOut: true, error })
    expect(asked(server, Send)).toBe(1)
    await api.posts.resolve({ id: postId, channelId, outcome: 'not_published' })
    await untilState(w.db, id, 'published')
    expect(server.statuses).toHaveLength(1)
  })

  test('stays in review when a similar post is there, with the link of that post', async (context) => {
    const text = 'The shop opens at ten today'
    const { server, channelId, id } = await aPostInDoubt(context, { isOut: false, text })
    const shown = server.show({ content: `<p>${text}, says the shop</p>` })
    await connectAt(api, server, channelId)
    await untilLooked(id)
    const error = { code: 'cannot_be_read', nextStep: expect.stringContaining(shown.url) }
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'needs_review', error })
  })

  test('is looked for again until its account can be read', async (context) => {
    const { server, channelId, id } = await aPostInDoubt(context, { isOut: true })
    server.next(List, { status: 503 }, 'reset after')
    await connectAt(api, server, channelId)
    expect(await untilState(w.db, id, 'published')).toMatchObject({ evidence: 'found' })
  })

  test('is not looked for any more after a member cancels it', async (context) => {
    const { server, channelId, id, postId } = await aPostInDoubt(context, { isOut: false })
    const before = asked(server, List)
    server.next(List, ...Array(50).fill({ status: 503 }))
    await connectAt(api, server, channelId)
    await until(() => asked(server, List) > before)
    await api.posts.resolve({ id: postId, channelId, outcome: 'cancelled' })
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'cancelled', lookAt: null, lookToken: null })
  })

  test('waits for the next connection when the channel is disconnected before we could look', async (context) => {
    const { server, channelId, id } = await aPostInDoubt(context, { isOut: true })
    server.next(List, ...Array(50).fill({ status: 503 }))
    await connectAt(api, server, channelId)
    await api.channels.disconnect({ id: channelId, unsent: 'hold' })
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'needs_review', lookAt: null })
    await until(() => server.revoked.length > 0)
  })

  test('is not looked for when another organisation connects the same account', async (context) => {
    const { server, id } = await aPostInDoubt(context, { isOut: true })
    const theirs = await ownerOf((await anOrganisation(w.db)).organisationId)
    await connectAt(theirs, server)
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'needs_review', lookAt: null })
  })
})
