import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { MailKind } from '../../db/schema/mail.ts'
import { open } from '../../db/sealed.ts'
import type { Deps } from '../deps.ts'
import { type Letter, laidOut } from './layout.ts'
import { addressChangedLetter, addressLetter, changedLetter, resetLetter } from './letters.ts'
import { newAddressMessage } from './new-address.ts'
import { channelLetter, postLetter, type Reader, webhookLetter } from './notice-letters.ts'
import { type ClaimedMail, contentPlace, keepMessage, type Message, makeLink, ResetMinutes } from './outbox.ts'
import { signUpMessage } from './sign-up.ts'

const AddressCheckDays = 7

/**
 * The message of a mail. The first try makes and keeps it, so each try sends the same one. Null: the mail is no longer
 * needed, or no account has the address.
 */
export async function messageFor(deps: Deps, mail: ClaimedMail): Promise<Message | null> {
  const kept = contentOf(deps, mail)
  if (kept && 'text' in kept) return kept
  return deps.db.transaction(async (tx) => {
    const message = await composed(deps, tx, mail, kept?.to ?? null)
    if (message) await keepMessage(tx, deps.ring, mail, message)
    return message
  })
}

async function composed(deps: Deps, tx: Tx, mail: ClaimedMail, typed: string | null): Promise<Message | null> {
  const { kind } = mail
  if (kind === 'sign_up') return signUpMessage(deps, tx, mail)
  if (kind === 'new_address') return newAddressMessage(deps, tx, mail)
  return accountMessage(deps, tx, mail, { compose: letters[kind], typed })
}

type ToAccount = { compose: Compose; typed: string | null }

async function accountMessage(
  deps: Deps,
  tx: Tx,
  mail: ClaimedMail,
  { compose, typed }: ToAccount,
): Promise<Message | null> {
  const reader = await readerOf(tx, mail, typed)
  const letter = reader && (await compose(deps, tx, mail, reader))
  if (!letter) return null
  return laidOut(letter, mail.kind === 'address_changed' ? typed! : reader.email)
}

function contentOf({ ring }: Deps, mail: ClaimedMail): Message | { to: string } | null {
  return mail.content && JSON.parse(open(ring, contentPlace(mail), mail.content))
}

// A notice is for members only, and only while they want it and their address is verified.
async function readerOf(tx: Tx, mail: ClaimedMail, typed: string | null): Promise<Reader | null> {
  const { accountId, organisationId } = mail
  const isIt = accountId !== null ? sql`a.id = ${accountId}` : sql`lower(a.email) = lower(${typed})`
  const [reader] = await tx.execute<Reader>(sql`
    select a.id, a.name, a.email, a.time_zone as "timeZone", a.email_verified_at is not null as "isVerified", o.name as organisation
    from accounts a
    left join memberships m on m.account_id = a.id and m.organisation_id = ${organisationId}
    left join organisations o on o.id = m.organisation_id
    where ${isIt} and (${organisationId}::uuid is null or (o.id is not null and a.wants_notices and a.email_verified_at is not null))`)
  return reader ?? null
}

type Compose = (deps: Deps, tx: Tx, mail: ClaimedMail, reader: Reader) => Promise<Letter | null> | Letter | null

const letters: Record<Exclude<MailKind, 'sign_up' | 'new_address'>, Compose> = {
  password_reset: async ({ appUrl }, tx, _mail, { id, email }) => {
    const token = await makeLink(tx, { accountId: id, email, kind: 'password_reset', minutes: ResetMinutes })
    return resetLetter(email, `${appUrl}/reset?token=${token}`)
  },
  address_check: async ({ appUrl }, tx, _mail, { id, email, isVerified }) => {
    if (isVerified) return null
    const minutes = AddressCheckDays * 24 * 60
    const token = await makeLink(tx, { accountId: id, email, kind: 'address_check', minutes })
    return addressLetter(email, `${appUrl}/verify?token=${token}`)
  },
  // An address that is not verified may be a stranger's, whom anybody could write to by changing their own password.
  password_changed: ({ appUrl }, _tx, mail, { email, timeZone, isVerified }) =>
    isVerified ? changedLetter({ email, timeZone, at: mail.createdAt, appUrl }) : null,
  address_changed: (_deps, _tx, mail, { timeZone }) => addressChangedLetter({ timeZone, at: mail.createdAt }),
  posts: ({ appUrl }, tx, mail, reader) => postLetter(tx, mail, reader, appUrl),
  channels: ({ appUrl }, tx, mail, reader) => channelLetter(tx, mail, reader, appUrl),
  webhooks: ({ appUrl }, tx, mail, reader) => webhookLetter(tx, mail, reader, appUrl),
}
