const NamedEntities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/**
 * Whether a status is what `text` became: compared with its source where the server gives it, else with its HTML.
 *
 * Servers turn Markdown, smileys and quotes into markup of their own and resolve mentions, so of the HTML only letters,
 * digits and pictures count, and of a mention nothing.
 */
export function sameText(text: string, status: { text?: string | null | undefined; content: string }): boolean {
  if (status.text) return squeezed(status.text) === squeezed(text)
  const theirs = plainOf(status.content)
  const [core, theirCore] = [coreOf(text), coreOf(theirs)]
  return core || theirCore ? core === theirCore : squeezed(text) === squeezed(theirs)
}

function squeezed(text: string): string {
  return text.normalize('NFC').replace(/\s+/g, ' ').trim()
}

function coreOf(text: string): string {
  return decoded(text.normalize('NFC'))
    .replace(/(?<![\p{L}\p{N}/])@[\w.-]+(@[\w.:-]+)?/gu, '')
    .replace(/[^\p{L}\p{M}\p{N}\p{So}]+/gu, '')
}

function plainOf(html: string): string {
  return html
    .replace(/<br\s*\/?>|<\/p>/gi, '\n')
    .replace(/<a\s[^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gis, (_, href: string, label: string) => {
      const shown = label.replace(/<[^>]*>/g, '')
      return /^\s*[@#]/.test(shown) ? shown : href // the text of a link may be shortened
    })
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, entity)
}

function entity(whole: string, hex?: string, decimal?: string, name?: string): string {
  const code = hex ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN)
  if (name) return NamedEntities[name] ?? whole
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole
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
