import { type Shown, visibleTexts } from '../visible-text.ts'

/** How a status compares with a text of ours: it is the text, it may be, or it is another one. */
export type Match = 'same' | 'like' | 'other'

/** From this share of common trigrams on, a text is like another (Dice's coefficient, 0 to 1). */
const LikeFrom = 0.4

const MarkdownCharactersAtMost = 10_000 // longer texts are compared as they are
const Dear = 'table' // 2,000 characters can make 65,536 cells
const ComparedCharactersAtMost = 20_000

// More than any server makes of a text: what is longer is another one.
const MarkupAtMost = 20_000
const MarkupPerCharacter = 20

/** A text of ours in every form that a server may show it in. */
export type OwnText = { squeezed: string; forms: string[]; trigrams: Trigrams[] }

/** What a status shows, ready to be compared with any number of texts: its source, or all that a reader may see of its HTML. */
export type ShownText = { isSource: boolean; isOnlyLinks: boolean; squeezed: string[]; cores: string[] }

type Trigrams = { counts: Map<string, number>; total: number }

/** Make a text of ours ready to be compared: plain, as HTML, and as what Markdown makes of it. */
export async function ownText(text: string): Promise<OwnText> {
  const shown = [text, ...visibleTexts(text, everyWay)]
  if (text.length <= MarkdownCharactersAtMost) {
    const { default: Markdown } = await import('markdown-it') // only where a post is looked for
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
 * What a status shows: its source where the server gives it, else what a reader sees of its HTML. Of HTML no more is read than
 * any server makes of a text of `length` characters.
 *
 * Servers turn Markdown, smileys and quotes into markup of their own and resolve mentions, so of what is seen only
 * letters, digits and pictures count, and of a mention the name without its host.
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

/** How what a status shows compares with a text of ours. Of files alone some servers make links to them as the text. */
export function matchOf(own: OwnText, shown: ShownText): Match {
  if (isSame(own, shown)) return 'same'
  if (own.squeezed === '' && shown.isOnlyLinks) return 'like'
  return shown.cores.some((core) => isLike(own, core)) ? 'like' : 'other'
}

/** Whether it is the text: by far cheaper than to ask how like it is. */
export function isSame(own: OwnText, { isSource, squeezed, cores }: ShownText): boolean {
  if (squeezed.includes(own.squeezed)) return true
  return !isSource && cores.some((core) => core !== '' && own.forms.includes(core))
}

function isLike(own: OwnText, core: string): boolean {
  if (core === '') return own.forms.includes('') // nothing but signs, both of them: too little to tell them apart
  if (own.forms.every(({ length }) => core.length > (length + 2) * (2 / LikeFrom))) return false // it cannot be: not counted
  const theirs = trigramsOf(core)
  return own.trigrams.some((ours) => likeness(ours, theirs) >= LikeFrom)
}

function squeezed(text: string): string {
  return text.slice(0, ComparedCharactersAtMost).normalize('NFC').replace(/\s+/g, ' ').trim()
}

function coreOf(text: string): string {
  return decoded(text.slice(0, ComparedCharactersAtMost).normalize('NFC'))
    .replace(/(?<![\p{L}\p{N}/])@([\w.-]{1,300})(@[\w.:-]{1,300})?/gu, '$1')
    .replace(/[^\p{L}\p{M}\p{N}\p{So}]+/gu, '')
}

// A link may come back with its letters escaped.
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })
}

// The ends count as signs of their own, so that a text of one letter has trigrams too.
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
