/** How one network counts the length of a text. Pure: the composer's counter and the rule are this one piece. */
export type TextRule = {
  textLength: number
  textUnit: 'characters' | 'graphemes'
  textBytes?: number | undefined // a second bound, in UTF-8 bytes
  urlsCountAs?: number | undefined // every link counts as so many, whatever its length
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const Link = /https?:\/\/[^\s<>"']+/giu

/** The length of `text` in the rule's own unit: code points (Mastodon) or grapheme clusters (Bluesky). */
export function lengthOf(rule: TextRule, text: string): number {
  if (rule.urlsCountAs === undefined) return countUnits(rule, text)
  const links = text.match(Link)?.length ?? 0
  return countUnits(rule, text.replace(Link, '')) + links * rule.urlsCountAs
}

/** By how much `text` is too long, in the rule's unit or in bytes, whichever is broken; null when it fits. */
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
