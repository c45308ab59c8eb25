import { desc, isNotNull } from 'drizzle-orm'
import { escapeUTF8 } from 'entities'
import { mails } from '../../db/schema/mail.ts'
import { open } from '../../db/sealed.ts'
import { contentPlace, type Message } from '../../jobs/mail/outbox.ts'
import type { Installation } from '../access/trpc.ts'

const ShownMails = 50

/** The page /dev/mail of the development server: the newest mails as text, which nobody was sent. */
export async function mailPage({ db, ring }: Pick<Installation, 'db' | 'ring'>): Promise<string> {
  const rows = await db
    .select()
    .from(mails)
    .where(isNotNull(mails.content))
    .orderBy(desc(mails.createdAt), desc(mails.id))
    .limit(ShownMails)
  const shown = rows.map((row) => shownMail(JSON.parse(open(ring, contentPlace(row), row.content!))))
  const body = shown.join('') || '<p>No mails yet. The worker writes them a moment after they are asked for.</p>'
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Mails</title><h1>Mails</h1>${body}</html>`
}

function shownMail({ to, subject, text }: Message | { to: string; subject?: undefined; text?: undefined }): string {
  const withLinks = escapeUTF8(text ?? 'The worker has not written it yet.').replace(
    /https?:\/\/[^\s&<]+(&amp;[^\s&<]+)*/g,
    (url) => `<a href="${url}">${url}</a>`,
  )
  return `<h2>${escapeUTF8(subject ?? 'Waiting')}</h2><p>To ${escapeUTF8(to)}</p><pre>${withLinks}</pre>`
}
