import { expect, test } from 'vitest'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import { type CheckedFile, check, emptiness } from '../../../jobs/networks/check.ts'

const image: CheckedFile = { mime: 'image/png', bytes: 1000, alt: '', durationMs: null }
const video: CheckedFile = { mime: 'video/mp4', bytes: 1000, alt: '', durationMs: 60_500 }

function complaintsOf(content: { text?: string; media?: (CheckedFile | null)[] }, limits: Partial<ChannelLimits>) {
  const most: ChannelLimits = {
    ...{ textLength: 500, textUnit: 'characters', mediaCount: 4 },
    mediaTypes: ['image/png', 'video/mp4'],
  }
  const channel = { name: 'Ada', network: 'mastodon', limits: { ...most, ...limits } }
  return check({ text: 'x', media: [], ...content }, channel)
}

test('content within the limits has no complaint', () => {
  const limits = { mediaBytes: 1000, videoBytes: 1000, videoSeconds: 61, altLength: 0, videoAlone: true }
  expect(complaintsOf({ text: 'x'.repeat(500), media: [image, image, image, image] }, limits)).toEqual([])
  expect(complaintsOf({ media: [video] }, limits)).toEqual([])
})

test.each<[string, Parameters<typeof complaintsOf>[0], Partial<ChannelLimits>, unknown, string]>([
  ['a text', { text: 'x'.repeat(501) }, {}, 'text', '1 character too long for Ada. The limit is 500 characters'],
  [
    'many bytes',
    { text: '字'.repeat(4) },
    { textBytes: 10 },
    'text',
    '2 bytes too long for Ada. The limit is 10 bytes',
  ],
  ['five files', { media: [image, image, image, image, null] }, {}, 'media', 'at most 4 files. This post has 5.'],
  [
    'a mix',
    { media: [image, video] },
    { videoAlone: true },
    'media',
    'a video only without other files. This post has 2',
  ],
  ['two videos', { media: [video, video] }, { videoAlone: true }, 'media', 'a video only without other files.'],
  ['a type', { media: [image, video] }, { mediaTypes: ['image/png'] }, 1, "doesn't accept video/mp4."],
  ['an image', { media: [image] }, { mediaBytes: 999 }, 0, 'files of up to 999 bytes. This one has 1,000.'],
  ['a video', { media: [video] }, { videoBytes: 999 }, 0, 'videos of up to 999 bytes. This one has 1,000.'],
  ['a long video', { media: [video] }, { videoSeconds: 60 }, 0, 'videos of up to 60 seconds. This one has 61.'],
  ['an alt text', { media: [{ ...image, alt: '👍👍' }] }, { altLength: 1 }, 0, 'alt texts of up to 1 character.'],
])('%s that the limits exclude has a complaint with its place', (_, content, limits, of, sentence) => {
  expect(complaintsOf(content, limits)).toEqual([
    { of, code: expect.any(String), message: expect.stringContaining(sentence) },
  ])
})

test('a video beside images is allowed where no rule excludes it', () => {
  expect(complaintsOf({ media: [image, video] }, {})).toEqual([])
})

test('content is empty without a visible text and without media', () => {
  expect(emptiness({ text: ' \n', media: [] })).toMatchObject({ of: 'text', code: 'content_empty' })
  expect(emptiness({ text: ' ', media: [null] })).toBeNull()
})
