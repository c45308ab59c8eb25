import { sql } from 'drizzle-orm'
import { check, index, integer, pgEnum, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { accounts, organisations } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'

export const mailKind = pgEnum('mail_kind', [
  'password_reset',
  'password_changed',
  'address_check',
  'address_changed',
  'posts',
  'channels',
  'webhooks',
  'sign_up',
  'new_address',
])
export type MailKind = (typeof mailKind.enumValues)[number]

// Mails to an address that anybody may type, a stranger's too. That the server refuses it says little about our mail.
export const kindsToTyped: MailKind[] = ['sign_up', 'new_address']

// How the failure of a mail ends when the server refuses its recipient.
export const RefusedRecipient = 'RCPT TO'

export const mailState = pgEnum('mail_state', ['pending', 'sent', 'failed', 'dropped'])

// A mail on its way: the unit of work of jobs/mail/sender.ts, written in the transaction that causes it. Notices belong
// to an organisation. Mails about an account's password or address have none. A reset for an address that no account has,
// and a sign-up, belong to nobody.
export const mails = pgTable(
  'mails',
  {
    id: id(), // also the Message-ID
    organisationId: uuid().references(() => organisations.id, { onDelete: 'cascade' }),
    accountId: uuid().references(() => accounts.id, { onDelete: 'cascade' }), // null: the typed address is in `content`, or in the sign-up's row
    kind: mailKind().notNull(),
    subjectIds: uuid().array().notNull().default([]), // of a notice: its posts, channels or webhooks; of a sign-up or a new address: its row
    content: bytes(), // sealed: the typed address, then the whole message; erased when the mail ends
    state: mailState().notNull().default('pending'),
    attemptNo: integer().notNull().default(0),
    nextAttemptAt: instant(), // null once ended
    giveUpAt: instant().notNull(),
    leaseToken: uuid(),
    leaseUntil: instant(), // a try is in progress; when it expires, the worker is dead and we try again
    failure: text(), // of the last try: the server's code, never its text
    createdAt: createdAt(),
    endedAt: instant(),
  },
  (t) => [
    index('mails_due').on(t.nextAttemptAt).where(sql`state = 'pending'`), // claim
    index('mails_account').on(t.accountId, t.kind, t.createdAt), // how long ago was the last one
    index('mails_organisation').on(t.organisationId),
    index('mails_ended').on(t.endedAt), // the sweep, metrics
    check('mails_pending_has_next', sql`(state = 'pending') = (next_attempt_at is not null)`),
    check('mails_pending_or_ended', sql`(state = 'pending') = (ended_at is null)`),
  ],
)

export const noticeKind = pgEnum('notice_kind', ['posts', 'channels', 'webhooks'])

// Something to tell a person, until a mail collects it (jobs/mail/collect.ts).
export const notices = pgTable(
  'notices',
  {
    id: id(),
    organisationId: uuid()
      .notNull()
      .references(() => organisations.id, { onDelete: 'cascade' }),
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    kind: noticeKind().notNull(),
    subjectId: uuid().notNull(), // a post, a channel or a webhook
    createdAt: createdAt(),
  },
  (t) => [
    index('notices_waiting').on(t.accountId, t.organisationId, t.kind, t.createdAt), // collect
    index('notices_organisation').on(t.organisationId),
  ],
)

export const mailLinkKind = pgEnum('mail_link_kind', ['password_reset', 'address_check', 'new_address'])

// A link in a mail. It works once, for as long as its account has the address that it was sent to. An account has at
// most one of a new address: it has that address once the link is used, and its former one until then.
export const mailLinks = pgTable(
  'mail_links',
  {
    id: id(),
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    kind: mailLinkKind().notNull(),
    tokenHash: bytes().unique(), // SHA-256 of 32 random bytes; null until the worker has written the mail
    email: text().notNull(),
    expiresAt: instant().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('mail_links_account').on(t.accountId, t.kind),
    index('mail_links_expiry').on(t.expiresAt), // the sweep
  ],
)
