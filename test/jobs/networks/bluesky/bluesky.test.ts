import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bluesky } from '../../../../jobs/networks/bluesky/bluesky.ts'
import { mintTid } from '../../../../jobs/networks/bluesky/tid.ts'
import type { Session } from '../../../../jobs/networks/network.ts'
import { aNoisyImage, anImage } from '../content.ts'
import { type HttpStand, httpContract, outboundToLoopback, verdictOf } from '../http-contract.ts'
import { type FakePds, fakePds } from './bluesky.fake.ts'

const network = bluesky('https://plc.test')

describe('the contract', () => httpContract(network, stand))

async function stand(): Promise<HttpStand & { server: FakePds }> {
  const server = await fakePds()
  return {
    network,
    server,
    session: sessionOn(server),
    newKey: mintTid,
    shown: async () => [...server.records.values()],
    close: server.close,
    sendRoute: 'POST /xrpc/com.atproto.repo.putRecord',
    uploadRoute: 'POST /xrpc/com.atproto.repo.uploadBlob',
    secrets: [server.accessJwt],
    deadToken: [
      { status: 400, body: { error: 'ExpiredToken', message: 'Token has expired' } },
      { status: 400, body: { error: 'InvalidToken', message: 'Bad token' } },
      { status: 401, body: { error: 'AuthMissing' } },
      { status: 401, body: 'no' },
      { status: 400, body: { error: 'AccountTakedown', message: 'Account has been taken down' } },
    ],
    refusal: { status: 400, body: { error: 'InvalidRequest', message: 'This text is not wanted.' } },
    refreshing: {
      route: 'POST /xrpc/com.atproto.server.refreshSession',
      refusals: [
        { status: 400, body: { error: 'ExpiredToken' } },
        { status: 401, body: 'no' },
        { status: 403, body: 'no' },
      ],
    },
  }
}

function sessionOn({ url, did, accessJwt, refreshJwt }: FakePds): Session {
  return {
    organisationId: randomUUID(),
    channelId: randomUUID(),
    remoteAccount: did,
    credential: { pds: url, did, handle: 'ada.test', accessJwt, refreshJwt },
    outbound: outboundToLoopback(),
    signal: new AbortController().signal,
  }
}

describe('the record', () => {
  let it: Awaited<ReturnType<typeof stand>>
  beforeAll(async () => {
    it = await stand()
  })
  afterAll(() => it.close())

  async function recordOf(text: string, media: Awaited<ReturnType<typeof anImage>>[] = []) {
    return (await network.prepare({ text, media }, mintTid(), it.session)) as {
      text: string
      createdAt: string
      facets?: { index: { byteStart: number; byteEnd: number }; features: Record<string, unknown>[] }[]
      embed?: { images: { alt: string; aspectRatio: { width: number; height: number }; image: unknown }[] }
    }
  }

  test('links, hashtags and mentions of existing accounts are facets on the right bytes', async () => {
    const text = '🎉 Grüße @bob.test @nobody.test https://example.com/ü #fête'
    const { facets = [], ...record } = await recordOf(text)
    const bytes = Buffer.from(text)
    const placed = facets.map(({ index, features }) => [
      bytes.subarray(index.byteStart, index.byteEnd).toString(),
      features[0]?.did ?? features[0]?.uri ?? features[0]?.tag,
    ])
    expect(placed).toEqual([
      ['@bob.test', 'did:plc:bob'],
      ['https://example.com/ü', 'https://example.com/ü'],
      ['#fête', 'fête'],
    ])
    expect(record).toEqual({ $type: 'app.bsky.feed.post', text, createdAt: expect.stringMatching(/^\d{4}-.*Z$/) })
  })

  test('a mention whose look-up fails for now stops the send: the post is not sent without it', async () => {
    it.server.next('GET /xrpc/com.atproto.identity.resolveHandle', { status: 503 })
    expect(await verdictOf(recordOf('@bob.test'))).toMatchObject({ verdict: 'unknown' })
  })

  test('a small image is uploaded unchanged, with its alternative text and aspect ratio', async () => {
    const image = await anImage({ width: 40, height: 20, alt: 'A red field' })
    const { embed } = await recordOf('', [image])
    expect(embed).toMatchObject({
      $type: 'app.bsky.embed.images',
      images: [{ alt: 'A red field', aspectRatio: { width: 40, height: 20 } }],
    })
    const blob = it.server.blobs.at(-1)
    expect(blob?.mime).toBe('image/png')
    expect(blob?.bytes.equals(await image.read())).toBe(true)
  })

  test('a large image is reduced to fit and keeps its aspect ratio', async () => {
    const { embed } = await recordOf('', [await aNoisyImage({ width: 3000, height: 1500 })])
    const blob = it.server.blobs.at(-1)
    expect(blob?.mime).toBe('image/jpeg')
    expect(blob?.bytes.length).toBeLessThanOrEqual(2_000_000)
    const proportions = embed?.images[0]?.aspectRatio
    expect(proportions && proportions.width / proportions.height).toBeCloseTo(2)
  })

  test('a video is refused before anything is sent', async () => {
    const video = { ...(await anImage()), mime: 'video/mp4' }
    expect(await verdictOf(recordOf('', [video]))).toMatchObject({ verdict: 'refused', code: 'media_not_supported' })
  })
})

test('publish keys are record keys, and each sorts after the one before', () => {
  const keys = Array.from({ length: 5000 }, mintTid)
  for (const key of keys) expect(key).toMatch(/^[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}$/)
  expect([...new Set(keys)].sort()).toEqual(keys)
})
