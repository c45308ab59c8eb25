import { expect, test } from 'vitest'
import { excessOf, lengthOf } from '../../../jobs/networks/text-length.ts'

const mastodon = { textLength: 500, textUnit: 'characters', urlsCountAs: 23, shortensUrls: true } as const
const bluesky = { textLength: 300, textUnit: 'graphemes', textBytes: 3000 } as const

test('Mastodon counts every link as 23', () => {
  expect(lengthOf(mastodon, `see https://example.com/${'x'.repeat(400)} now`)).toBe(4 + 23 + 4)
  expect(lengthOf(mastodon, 'http://a.b http://c.d')).toBe(47)
})

test('Bluesky counts graphemes, and bytes too', () => {
  expect(lengthOf(bluesky, '👨‍👩‍👧‍👦é🇩🇪')).toBe(3)
  expect(excessOf(bluesky, 'x'.repeat(300))).toBeNull()
  expect(excessOf(bluesky, 'x'.repeat(301))).toEqual({ by: 1, unit: 'graphemes' })
  expect(excessOf(bluesky, '👨‍👩‍👧‍👦'.repeat(150))).toEqual({ by: 150 * 25 - 3000, unit: 'bytes' })
})
