import { escapeUTF8 } from 'entities'
import { beginningOf } from '../networks/text-length.ts'
import type { Message } from './outbox.ts'

/** What a mail says, in order: sentences, a list, a link, more sentences. Parts of it are texts of people. */
export type Letter = {
  subject: string
  before: string[]
  list?: { title: string; details: string[]; url?: string }[]
  link?: { text: string; url: string }
  after?: string[]
}

/** A letter as text and as simple HTML. Nothing in it is loaded from anywhere. */
export function laidOut(letter: Letter, to: string): Message {
  // It may have a text of people in it: no line breaks, and a limit.
  const subject = beginningOf(letter.subject.replace(/\s+/g, ' '), 150)
  return { to, subject, text: asText(letter), html: asHtml(letter) }
}

function asText({ before, list = [], link, after = [] }: Letter): string {
  const items = list.map(({ title, details, url }) =>
    [`* ${title}`, ...[...details, ...(url ? [url] : [])].map((detail) => `  ${detail}`)].join('\n'),
  )
  const parts = [...before, ...items, ...(link ? [`${link.text}:\n${link.url}`] : []), ...after]
  return `${parts.join('\n\n')}\n`
}

const Style = 'font:16px/1.5 system-ui,sans-serif;max-width:36em'

function asHtml({ subject, before, list = [], link, after = [] }: Letter): string {
  const items = list.map(({ title, details, url }) => {
    const named = url ? anchor(url, title) : escapeUTF8(title)
    return `<li><b>${named}</b>${details.map((detail) => `<br>${escapeUTF8(detail)}`).join('')}</li>`
  })
  const parts = [
    ...before.map(paragraph),
    ...(items.length > 0 ? [`<ul>${items.join('')}</ul>`] : []),
    ...(link ? [`<p>${anchor(link.url, link.text)}</p>`] : []),
    ...after.map(paragraph),
  ]
  const head = `<meta charset="utf-8"><title>${escapeUTF8(subject)}</title>`
  return `<!doctype html><html lang="en"><head>${head}</head><body><div style="${Style}">${parts.join('')}</div></body></html>`
}

function paragraph(text: string): string {
  return `<p>${escapeUTF8(text)}</p>`
}

function anchor(url: string, text: string): string {
  return `<a href="${escapeUTF8(url)}">${escapeUTF8(text)}</a>`
}
