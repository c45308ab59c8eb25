import type { Preview } from '../../../../jobs/networks/network.ts'

/** A piece of a text: plain, or shown as a link. `at`: where it begins. */
export type Part = { at: number; text: string; isLink: boolean }

// A full stop or a bracket after an address is the sentence's. Mentions and hashtags begin after a space or a bracket.
const patterns = {
  link: /https?:\/\/[^\s<>"]*[^\s<>"'.,:;!?)\]]/,
  mention: /(?<![^\s([{])@[\w-]+(?:\.[\w-]+)*(?:@[\w-]+(?:\.[\w-]+)+)?/,
  hashtag: /(?<![^\s([{])#[\p{L}\p{M}\p{N}_]*\p{L}[\p{L}\p{M}\p{N}_]*/u,
}

/** `text` in its pieces, as a network shows it. */
export function partsOf(text: string, { marks, linkLength }: Preview): Part[] {
  if (marks.length === 0) return [{ at: 0, text, isLink: false }]
  const any = new RegExp(marks.map((mark) => patterns[mark].source).join('|'), 'gu')
  const parts: Part[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(any)) {
    const shown = found.startsWith('http') ? shortened(found, linkLength) : found
    parts.push({ at: end, text: text.slice(end, index), isLink: false }, { at: index, text: shown, isLink: true })
    end = index + found.length
  }
  return [...parts, { at: end, text: text.slice(end), isLink: false }].filter((part) => part.text)
}

/** The host of the first link in `text`, or null. */
export function firstHost(text: string): string | null {
  const [link] = text.match(patterns.link) ?? []
  return link && URL.canParse(link) ? new URL(link).host : null
}

function shortened(link: string, most: number | undefined): string {
  if (most === undefined) return link
  const bare = link.replace(/^https?:\/\/(www\.)?/, '')
  return bare.length > most ? `${bare.slice(0, most)}…` : bare
}
