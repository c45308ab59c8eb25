import { possibleLinks } from './links.ts'

/** How one network counts the length of a text. Pure: the composer's counter and the check share it. */
export type TextRule = {
  textLength: number
  textUnit: 'characters' | 'graphemes'
  textBytes?: number | undefined // a second limit, in UTF-8 bytes
  urlsCountAs?: number | undefined // a link counts as at least this many
  shortensUrls?: boolean | undefined // and as no more, however long it is: we know that the server counts so
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The length of `text` in the rule's own unit: code points (Mastodon) or grapheme clusters (Bluesky).
 *
 * No server of this kind counts more. So we shorten a link only if it certainly is one. For a server that we don't know
 * (`urlsCountAs` without `shortensUrls`) we count UTF-16 units, because some servers do (Iceshrimp.NET).
 */
export function lengthOf(rule: TextRule, text: string): number {
  const { urlsCountAs, shortensUrls = false } = rule
  if (urlsCountAs === undefined) return countUnits(rule, text)
  const whole = shortensUrls ? countUnits(rule, text) : text.length
  return possibleLinks(text).reduce((length, { start, certainEnd, shortest }) => {
    const certain = certainEnd - start
    if (shortensUrls && certain > urlsCountAs) return length + urlsCountAs - certain
    return length + Math.max(0, urlsCountAs - Math.max(certain, shortest))
  }, whole)
}

/** By how much `text` is too long, in the rule's unit or in bytes, whichever limit it breaks. Null if it fits. */
export function excessOf(
  rule: TextRule,
  text: string,
): { by: number; unit: 'characters' | 'graphemes' | 'bytes' } | null {
  const over = lengthOf(rule, text) - rule.textLength
  if (over > 0) return { by: over, unit: rule.textUnit }
  const overBytes = rule.textBytes === undefined ? 0 : new TextEncoder().encode(text).length - rule.textBytes
  return overBytes > 0 ? { by: overBytes, unit: 'bytes' } : null
}

function countUnits(rule: TextRule, text: string): number {
  const units: Iterable<unknown> = rule.textUnit === 'graphemes' ? graphemes.segment(text) : text
  return Array.from(units).length
}

type Texts = { content: string; overrides: { content?: string | undefined }[] }

/** The text that names a post: the one for all channels, else the first one for a channel. Trimmed; empty if it has none. */
export function textOf({ content, overrides }: Texts): string {
  const texts = [content, ...overrides.map((own) => own.content ?? '')]
  return texts.map((text) => text.trim()).find((text) => text !== '') ?? ''
}

/** The first `most` UTF-16 code units of `text`, or one less if that would cut a character in two. */
export function beginningOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')
}
