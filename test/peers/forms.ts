/**
 * The form of a page that has a field for each of `typed`, filled in: where it is sent, and with what, hidden fields and
 * ticked boxes included.
 */
export function filledForm(html: string, typed: Record<string, string>): { action: string; body: URLSearchParams } {
  const names = Object.keys(typed)
  for (const [, tag = '', content = ''] of html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)) {
    const { method, action } = attributesOf(tag)
    const inputs = [...content.matchAll(/<input\b([^>]*)>/g)].map(([, input = '']) => attributesOf(input))
    if (method !== 'post' || !action || !names.every((name) => inputs.some((input) => input.name === name))) continue
    const body = new URLSearchParams()
    for (const { name, value, type, checked } of inputs) {
      const isSent = name && !(name in typed) && (type !== 'checkbox' || checked !== undefined)
      if (isSent) body.append(name, value ?? '')
    }
    for (const name of names) body.append(name, typed[name] ?? '')
    return { action, body }
  }
  throw new Error(`No form takes ${names.join(', ')} in ${html}`)
}

/** The addresses that a page links to. */
export function linksIn(html: string): string[] {
  return [...html.matchAll(/<a\b([^>]*)>/g)].flatMap(([, tag = '']) => attributesOf(tag).href ?? [])
}

function attributesOf(tag: string): Record<string, string | undefined> {
  return Object.fromEntries(
    [...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value = '']) => [name, plain(value)]),
  )
}

function plain(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#x27;', "'").replaceAll('&amp;', '&')
}
