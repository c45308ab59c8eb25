import { type Shown, visibleTexts } from '../visible-text.ts'

/** How a status compares with our text: it is our text, it may be, or it is another one. */
export type Match = 'same' | 'like' | 'other'

/** A text is like another if they share at least this part of their trigrams (Dice's coefficient, 0 to 1). */
const LikeFrom = 0.4

const MarkdownCharactersAtMost = 10_000 // we don't compare longer texts as Markdown
const Dear = 'table' // 2,000 characters can make 65,536 cells
const ComparedCharactersAtMost = 20_000

// No server makes more of a text. If a status is longer, it is another text.
const MarkupAtMost = 20_000
const MarkupPerCharacter = 20

/** Our text in every form in which a server may show it. */
export type OwnText = { squeezed: string; forms: string[]; trigrams: Trigrams[] }

/** What a status shows, ready to compare with many texts: its source, or all that a reader may see of its HTML. */
export type ShownText = { isSource: boolean; isOnlyLinks: boolean; squeezed: string[]; cores: string[] }

type Trigrams = { counts: Map<string, number>; total: number }

/** Prepare our text for comparing: plain, as HTML, and as Markdown. */
export async function ownText(text: string): Promise<OwnText> {
  const shown = [text, ...visibleTexts(text, everyWay)]
  if (text.length <= MarkdownCharactersAtMost) {
    const { default: Markdown } = await import('markdown-it') // only when we look for a post
    for (const html of [false, true]) {
      shown.push(...visibleTexts(new Markdown({ html, linkify: true }).disable(Dear).render(text), everyWay))
    }
  }
  const forms = [...new Set(shown.map(coreOf))]
  return { squeezed: squeezed(text), forms, trigrams: forms.map(trigramsOf) }
}

const everyWay: Shown[] = [
  { links: 'label', pictures: false },
  { links: 'label', pictures: true },
  { links: 'address', pictures: true },
]

const NoLinks: Shown = { links: 'nothing', pictures: true }

/**
 * What a status shows: its source if the server gives it, else what a reader sees of its HTML. We read no more HTML
 * than any server makes of a text of `length` characters.
 *
 * Servers turn Markdown, smileys and quotes into their own markup, and resolve mentions. So only letters, digits and
 * pictures count, and only the name of a mention, without its host.
 */
export function shownText(status: { text?: string | null | undefined; content: string }, length: number): ShownText {
  const html = status.content.slice(0, MarkupAtMost + length * MarkupPerCharacter)
  const [besideLinks = '', ...seen] = status.text ? ['', status.text] : visibleTexts(html, [NoLinks, ...everyWay])
  const shown = new Set(seen)
  return {
    isSource: Boolean(status.text),
    isOnlyLinks: !status.text && coreOf(besideLinks) === '',
    squeezed: [...shown].map(squeezed),
    cores: [...new Set([...shown].map(coreOf))],
  }
}

/** Compare what a status shows with our text. If a post has only files, some servers show links to them as its text. */
export function matchOf(own: OwnText, shown: ShownText): Match {
  if (isSame(own, shown)) return 'same'
  if (own.squeezed === '' && shown.isOnlyLinks) return 'like'
  return shown.cores.some((core) => isLike(own, core)) ? 'like' : 'other'
}

/** Whether it is our text. This is much cheaper than to measure how similar it is. */
export function isSame(own: OwnText, { isSource, squeezed, cores }: ShownText): boolean {
  if (squeezed.includes(own.squeezed)) return true
  return !isSource && cores.some((core) => core !== '' && own.forms.includes(core))
}

function isLike(own: OwnText, core: string): boolean {
  if (core === '') return own.forms.includes('') // neither has letters or digits: we can't tell them apart
  if (own.forms.every(({ length }) => core.length > (length + 2) * (2 / LikeFrom))) return false // far too long
  const theirs = trigramsOf(core)
  return own.trigrams.some((ours) => likeness(ours, theirs) >= LikeFrom)
}

function squeezed(text: string): string {
  return normal(text).replace(/\s+/g, ' ').trim()
}

// In pieces: it takes quadratic time for a run of combining marks. They end before white space where there is some.
function normal(text: string): string {
  return text.slice(0, ComparedCharactersAtMost).replace(/.{1,150}\S{0,50}/gs, (piece) => piece.normalize('NFC'))
}

function coreOf(text: string): string {
  return decoded(normal(text))
    .replace(/(?<![\p{L}\p{N}/])@([\w.-]{1,300})(@[\w.:-]{1,300})?/gu, '$1')
    .replace(/[^\p{L}\p{M}\p{N}\p{So}]+/gu, '')
}

// A server may return a link with escaped letters.
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })
}

// The ends count as characters, so that a text of one letter has trigrams too.
function trigramsOf(core: string): Trigrams {
  const signs = ['', '', ...core, '', '']
  const counts = new Map<string, number>()
  const total = signs.length - 2
  for (let i = 0; i < total; i++) {
    const trigram = signs.slice(i, i + 3).join('\0')
    counts.set(trigram, (counts.get(trigram) ?? 0) + 1)
  }
  return { counts, total }
}

function likeness(one: Trigrams, other: Trigrams): number {
  let common = 0
  for (const [trigram, count] of one.counts) common += Math.min(count, other.counts.get(trigram) ?? 0)
  return (2 * common) / (one.total + other.total)
}
