import { Tokenizer } from 'htmlparser2'

/** A piece of what a reader sees: text, with its link if it is in one, or a picture's alternative text. */
type Piece = { text: string; link: Link | null; isPicture: boolean }
type Link = { address: string; label: string }

/** What we show for a link, if anything, and whether pictures (custom emoji) count by their alternative text. */
export type Shown = { links: 'label' | 'address' | 'nothing'; pictures: boolean }

/**
 * What a reader sees of `html`: one text for each of `ways`. It accepts any text, and takes time linear in its length.
 *
 * Mentions and hashtags are links that always count by their label.
 */
export function visibleTexts(html: string, ways: Shown[]): string[] {
  const pieces = piecesOf(html)
  return ways.map((way) => textOf(pieces, way))
}

function textOf(pieces: Piece[], { links, pictures }: Shown): string {
  const shown: string[] = []
  let last: Link | null = null
  for (const { text, link, isPicture } of pieces) {
    const isReplaced = links !== 'label' && link !== null && link.address !== '' && !/^\s*[@#]/.test(link.label)
    if (isReplaced && link !== last && links === 'address') shown.push(link.address)
    if (!isReplaced && (!isPicture || pictures)) shown.push(text)
    last = link
  }
  return shown.join('')
}

// The tokenizer and not the parser: at each end tag the parser searches all open elements, and a text can open many.
function piecesOf(html: string): Piece[] {
  const pieces: Piece[] = []
  const tag = { name: '', attribute: '', values: new Map<string, string>() }
  let link: Link | null = null
  const show = (text: string, isPicture = false) => {
    if (link && link.label.length < 100) link.label += text // the beginning is enough to see what it is
    pieces.push({ text, link, isPicture })
  }
  const valued = (text: string) => tag.values.set(tag.attribute, (tag.values.get(tag.attribute) ?? '') + text)
  const opened = () => {
    if (tag.name === 'a') link = { address: tag.values.get('href') ?? '', label: '' }
    if (tag.name === 'img') show(tag.values.get('alt') ?? '', true)
    if (Breaks.has(tag.name)) show('\n')
  }
  const nothing = () => {}
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => show(html.slice(start, end)),
      ontextentity: (codepoint) => show(String.fromCodePoint(codepoint)),
      onopentagname: (start, end) => {
        Object.assign(tag, { name: html.slice(start, end).toLowerCase(), attribute: '', values: new Map() })
      },
      onattribname: (start, end) => {
        tag.attribute = html.slice(start, end).toLowerCase()
      },
      onattribdata: (start, end) => valued(html.slice(start, end)),
      onattribentity: (codepoint) => valued(String.fromCodePoint(codepoint)),
      onattribend: nothing,
      onopentagend: opened,
      onselfclosingtag: opened,
      onclosetag: (start, end) => {
        const name = html.slice(start, end).toLowerCase()
        if (name === 'a') link = null
        if (Breaks.has(name)) show('\n')
      },
      ...{
        oncdata: nothing,
        oncomment: nothing,
        ondeclaration: nothing,
        onend: nothing,
        onprocessinginstruction: nothing,
      },
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return pieces
}

const Breaks = new Set([
  'br',
  'p',
  'div',
  'li',
  'tr',
  'td',
  'th',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'pre',
  'blockquote',
])
