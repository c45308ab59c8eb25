import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { shownError } from '../delivery-errors.ts'
import { anyText } from '../ledger/post-view.ts'
import type { Letter } from './layout.ts'
import { timeIn } from './letters.ts'
import type { ClaimedMail } from './outbox.ts'

// The mails that tell a member what needs attention. Each names only what still needs it when the mail is sent. Null:
// nothing does.

/** Who gets a mail. `organisation` is null for mails about their account. */
export type Reader = {
  id: string
  name: string
  email: string
  timeZone: string
  isVerified: boolean
  organisation: string | null
}

const ListedPosts = 20
const RiskPosts = 10
const ExcerptLength = 80

/** Posts that failed or need a decision, the latest first. */
export async function postLetter(tx: Tx, mail: ClaimedMail, reader: Reader, appUrl: string): Promise<Letter | null> {
  const rows = await tx.execute<{ id: string; text: string; status: string; error: string | null; n: number }>(sql`
    select p.id, left(${anyText}, 200) as text, p.told as status, count(*) over ()::int as n, (
      select ${shownError(sql`d.error`)} ->> 'message' from deliveries d
      where d.post_id = p.id and d.state in ('failed', 'needs_review') and d.error is not null order by d.position limit 1
    ) as error
    from posts p
    where p.id = any(${sql.param(mail.subjectIds)}::uuid[]) and p.organisation_id = ${mail.organisationId}
      and p.told in ('PARTIALLY_PUBLISHED', 'FAILED', 'NEEDS_REVIEW')
    order by p.updated_at desc, p.id limit ${ListedPosts}`)
  const n = rows[0]?.n ?? 0
  if (n === 0) return null
  const needs = n === 1 ? '1 post needs attention' : `${n} posts need attention`
  return {
    subject: `${needs}: ${reader.organisation}`,
    before: [`${needs} in ${reader.organisation}.`],
    list: [...rows].map(({ id, text, status, error }) => ({
      title: excerpt(text),
      details: [statusSentence[status] ?? '', error ?? ''].filter(Boolean),
      url: `${appUrl}/posts/${id}`,
    })),
    ...(n > rows.length ? { link: { text: `And ${n - rows.length} more: see your posts`, url: `${appUrl}/` } } : {}),
    after: [foot(appUrl)],
  }
}

const statusSentence: Record<string, string> = {
  FAILED: 'It was not published.',
  PARTIALLY_PUBLISHED: 'It was published on some channels only.',
  NEEDS_REVIEW: 'It needs your decision.',
}

/** Channels that must be reconnected, and the posts that wait for it, the next first. */
export async function channelLetter(tx: Tx, mail: ClaimedMail, reader: Reader, appUrl: string): Promise<Letter | null> {
  const isTheirs = sql`c.id = any(${sql.param(mail.subjectIds)}::uuid[]) and c.organisation_id = ${mail.organisationId}
    and c.status = 'needs_reconnect'`
  const channels = await tx.execute<{ name: string; network: string }>(sql`
    select c.name, c.network from channels c where ${isTheirs} order by c.name, c.id`)
  if (channels.length === 0) return null
  const risks = await tx.execute<{ text: string; dueAt: string; channel: string; postId: string }>(sql`
    select left(coalesce(d.content, p.content), 200) as text, d.due_at as "dueAt", c.name as channel, p.id as "postId"
    from deliveries d join channels c on c.id = d.channel_id join posts p on p.id = d.post_id
    where ${isTheirs} and d.state in ('scheduled', 'claimed', 'held') order by d.due_at, d.id limit ${RiskPosts}`)
  const names = [...channels].map(({ name, network }) => `${name} (${network})`)
  const one = names.length === 1
  return {
    subject: one
      ? `Reconnect ${channels[0]!.name}: ${reader.organisation}`
      : `Reconnect ${names.length} channels: ${reader.organisation}`,
    before: [
      one
        ? `The network no longer accepts the connection of ${names[0]}. Posts for it wait until you reconnect it.`
        : `Networks no longer accept the connections of these channels: ${names.join(', ')}. Posts for them wait until you reconnect them.`,
      ...(risks.length > 0 ? ['These posts are next:'] : []),
    ],
    list: [...risks].map(({ text, dueAt, channel, postId }) => ({
      title: excerpt(text),
      details: [`${timeIn(reader.timeZone, dueAt)}, on ${channel}`],
      url: `${appUrl}/posts/${postId}`,
    })),
    link: { text: 'Go to channels', url: `${appUrl}/channels` },
    after: [foot(appUrl)],
  }
}

/** Webhooks that we switched off. */
export async function webhookLetter(tx: Tx, mail: ClaimedMail, reader: Reader, appUrl: string): Promise<Letter | null> {
  const rows = await tx.execute<{ id: string; url: string; reason: string }>(sql`
    select w.id, w.url, w.off_reason as reason from webhooks w
    where w.id = any(${sql.param(mail.subjectIds)}::uuid[]) and w.organisation_id = ${mail.organisationId}
      and w.off_reason in ('failing', 'gone') order by w.url, w.id`)
  if (rows.length === 0) return null
  return {
    subject:
      rows.length === 1
        ? `A webhook was switched off: ${reader.organisation}`
        : `${rows.length} webhooks were switched off: ${reader.organisation}`,
    before: [`We no longer send events of ${reader.organisation} to:`],
    list: [...rows].map(({ id, url, reason }) => ({
      title: url,
      details: [reason === 'gone' ? 'It answered 410 Gone.' : 'It has failed for three days.'],
      url: `${appUrl}/settings/developers/webhooks/${id}`,
    })),
    after: ['Fix the receiver, then switch the webhook on again.', foot(appUrl)],
  }
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const letters = [...line]
  if (line === '') return 'Post without text'
  return letters.length > ExcerptLength ? `${letters.slice(0, ExcerptLength).join('')}…` : line
}

function foot(appUrl: string): string {
  return `You can switch these mails off in your account settings: ${appUrl}/settings/account`
}
