import { expect, test } from 'vitest'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import { validatePost } from '../../../server/posts/post-checks.ts'

const video = { id: 'v', mime: 'video/mp4', bytes: 1000, alt: '', durationMs: 60_500 }

function faultsWith(limits: Partial<ChannelLimits>) {
  const most: ChannelLimits = { textLength: 500, textUnit: 'characters', mediaCount: 4, mediaTypes: ['video/mp4'] }
  const channel = { id: 'c', name: 'Ada', network: 'mastodon', status: 'active', limits: { ...most, ...limits } }
  const wanted = { content: 'x', date: null, channelIds: ['c'], mediaIds: ['v'], overrides: [], tags: [] }
  return validatePost(
    wanted,
    { now: new Date(), channels: [channel], media: [video] },
    { date: true, onChannels: [], published: [] },
  )
}

test('a video is held to what its channel takes of videos, not of images', () => {
  expect(faultsWith({ mediaBytes: 10, videoBytes: 1000, videoSeconds: 61 })).toEqual([])
})

test.each<[string, Partial<ChannelLimits>, string]>([
  ['media_not_supported', { mediaTypes: ['image/png'] }, "doesn't accept video/mp4"],
  ['media_not_supported', { videoBytes: 999 }, 'allows videos of up to 999 bytes. This one has 1,000.'],
  ['video_too_long', { videoSeconds: 60 }, 'allows videos of up to 60 seconds. This one has 61.'],
])('%s with %j', (code, limits, sentence) => {
  expect(faultsWith(limits)).toEqual([
    { path: 'mediaIds[0]', code, message: expect.stringContaining(`Ada (mastodon) ${sentence}`) },
  ])
})
