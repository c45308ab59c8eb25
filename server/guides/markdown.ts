import type { MarkdownIt, Token } from 'markdown-it'

/** A page of the documentation that is a Markdown file in docs/: HTML of ours, and samples to copy, in their order. */
export type Guide = { title: string; lead: string; sections: Section[]; parts: Part[] }
export type Section = { id: string; title: string }
export type Part = { kind: 'html'; html: string } | { kind: 'sample'; text: string }

/**
 * Lay a guide out: `source` is Markdown that begins with `# Title` and one paragraph. Code blocks become samples, `##`
 * headings sections with an id of their letters. Files of docs/ that it links to become pages of the site.
 */
export async function guideOf(source: string): Promise<Guide> {
  const { default: Markdown } = await import('markdown-it') // only where a guide is read
  const markdown = withOurRules(new Markdown())
  const [, titleText, , , leadText, , ...rest] = markdown.parse(source, {})
  if (rest.length === 0 || !titleText || !leadText) throw new Error('A guide begins with a title and a paragraph.')
  return {
    title: titleText.content,
    lead: leadText.content.replaceAll('`', ''),
    sections: nameSections(rest),
    parts: partsOf(markdown, rest),
  }
}

function withOurRules(markdown: MarkdownIt): MarkdownIt {
  const { rules } = markdown.renderer
  // It may be wider than a small screen. Then it scrolls alone, also by the keyboard.
  rules.table_open = () => '<div class="table" role="group" aria-label="Table" tabindex="0"><table>'
  rules.table_close = () => '</table></div>'
  rules.th_open = () => '<th scope="col">'
  rules.link_open = (tokens, i) => `<a href="${markdown.utils.escapeHtml(addressOf(tokens[i]!))}">`
  return markdown
}

/** Gives each `##` heading its id. */
function nameSections(tokens: Token[]): Section[] {
  return tokens.flatMap((token, i) => {
    if (token.type !== 'heading_open' || token.tag !== 'h2') return []
    const title = tokens[i + 1]!.content.replaceAll('`', '')
    const id = title
      .toLowerCase()
      .replace(/[^a-z]+/g, ' ')
      .trim()
      .replaceAll(' ', '-')
    token.attrSet('id', id)
    return [{ id, title }]
  })
}

function partsOf(markdown: MarkdownIt, tokens: Token[]): Part[] {
  const parts: Part[] = []
  let from = 0
  for (const [i, token] of tokens.entries()) {
    if (token.type !== 'fence') continue
    parts.push(...htmlOf(markdown, tokens.slice(from, i)), { kind: 'sample', text: token.content.trimEnd() })
    from = i + 1
  }
  return [...parts, ...htmlOf(markdown, tokens.slice(from))]
}

function htmlOf(markdown: MarkdownIt, tokens: Token[]): Part[] {
  if (tokens.length === 0) return []
  return [{ kind: 'html', html: markdown.renderer.render(tokens, markdown.options, {}) }]
}

function addressOf(link: Token): string {
  const href = String(link.attrGet('href'))
  const [, name, fragment = ''] = /^(?:\.\.\/)?(?:api\/)?([a-z]+)\.md(#.*)?$/.exec(href) ?? []
  if (!name) return href
  return name === 'quickstart' ? `/docs${fragment}` : `/docs/${name}${fragment}`
}
