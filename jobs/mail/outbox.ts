import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../db/client.ts'
import { type MailKind, mails } from '../../db/schema/mail.ts'
import { type KeyRing, type Place, seal } from '../../db/sealed.ts'
import { ms } from '../ledger/ledger.ts'
import { wakeMails } from '../ledger/wake-ups.ts'
import type { Times } from '../timeouts-and-delays.ts'

// The waiting mails, as SQL. A mail is written in the transaction that causes it, so neither can be lost alone.

export const ResetMinutes = 60
export const SignUpHours = 24
export const NewAddressHours = 24
const GiveUpHours = 24

/** A mail as a person reads it. `to` is an address. */
export type Message = { to: string; subject: string; text: string; html: string }

/** A mail under this worker's lease. `content` is sealed: an address, or the whole message. */
export type ClaimedMail = {
  id: string
  organisationId: string | null
  accountId: string | null
  kind: MailKind
  subjectIds: string[]
  content: Uint8Array | null
  attemptNo: number
  leaseToken: string
  createdAt: string
}

/** Where a mail's content is sealed. */
export function contentPlace({ id, organisationId }: Pick<ClaimedMail, 'id' | 'organisationId'>): Place {
  return { table: 'mails', id, organisationId, field: 'content' }
}

/** Mail an account about its password or address. The worker composes it, with a new link if it needs one. */
export async function mailAccount(
  tx: Tx,
  accountId: string,
  kind: 'password_changed' | 'address_check',
): Promise<void> {
  await write(tx, { id: uuidv7(), kind, accountId }, GiveUpHours * 60)
}

/**
 * Mail a link for a new password to the account with this address, if there is one. Only the worker looks it up, so the
 * caller does the same for every address.
 */
export async function mailReset(tx: Tx, ring: KeyRing, to: string): Promise<void> {
  const id = uuidv7()
  const content = seal(ring, contentPlace({ id, organisationId: null }), JSON.stringify({ to }))
  await write(tx, { id, kind: 'password_reset', content }, ResetMinutes)
}

/** Mail the former address `to` of an account that its address was changed. */
export async function mailFormerAddress(tx: Tx, ring: KeyRing, accountId: string, to: string): Promise<void> {
  const id = uuidv7()
  const content = seal(ring, contentPlace({ id, organisationId: null }), JSON.stringify({ to }))
  await write(tx, { id, kind: 'address_changed', accountId, content }, GiveUpHours * 60)
}

/**
 * Mail the address of a sign-up: the link that creates its account, or that the address has an account. Only the worker
 * looks which, so the caller does the same for every address.
 */
export async function mailSignUp(tx: Tx, signUpId: string): Promise<void> {
  await write(tx, { id: uuidv7(), kind: 'sign_up', subjectIds: [signUpId] }, SignUpHours * 60)
}

/**
 * Mail the new address of an account, which waits as the link `linkId`: the link, or that the address has an account. Only
 * the worker looks which, as for a sign-up.
 */
export async function mailNewAddress(tx: Tx, accountId: string, linkId: string): Promise<void> {
  await write(tx, { id: uuidv7(), kind: 'new_address', accountId, subjectIds: [linkId] }, NewAddressHours * 60)
}

type NewMail = { id: string; kind: MailKind; accountId?: string; subjectIds?: string[]; content?: Uint8Array }

async function write(tx: Tx, mail: NewMail, minutes: number): Promise<void> {
  const giveUpAt = sql`now() + make_interval(mins => ${minutes})`
  await tx.transaction(async (tx) => {
    await tx.insert(mails).values({ ...mail, nextAttemptAt: sql`now()`, giveUpAt })
    await wakeMails(tx, [mail.id])
  })
}

/** Take the mail that has waited longest. Undefined: none is due. */
export async function claimMail(tx: Tx, { mailLeaseMs }: Pick<Times, 'mailLeaseMs'>): Promise<ClaimedMail | undefined> {
  const [mail] = await tx.execute<ClaimedMail>(sql`
    update mails m set
      attempt_no = attempt_no + 1, lease_token = gen_random_uuid(), lease_until = now() + ${ms(mailLeaseMs)}
    where m.id = (
      select d.id from mails d
      where d.state = 'pending' and d.next_attempt_at <= now() and d.give_up_at > now()
        and (d.lease_until is null or d.lease_until <= now())
      order by d.next_attempt_at, d.id limit 1 for update skip locked)
    returning m.id, m.organisation_id as "organisationId", m.account_id as "accountId", m.kind,
      m.subject_ids as "subjectIds", m.content, m.attempt_no as "attemptNo", m.lease_token as "leaseToken",
      m.created_at as "createdAt"`)
  return mail
}

/** Keep the message of the first try: each try sends the same. */
export async function keepMessage(tx: Tx, ring: KeyRing, mail: ClaimedMail, message: Message): Promise<void> {
  const content = seal(ring, contentPlace(mail), JSON.stringify(message))
  await tx.execute(
    sql`update mails set content = ${content} where id = ${mail.id} and lease_token = ${mail.leaseToken}`,
  )
}

type NewLink = { accountId: string; email: string; kind: 'password_reset' | 'address_check'; minutes: number }

/** Make a link for an account. The database keeps only the hash of its token. Returns the token, for the mail. */
export async function makeLink(tx: Tx, { accountId, email, kind, minutes }: NewLink): Promise<string> {
  const { token, tokenHash } = mintToken()
  await tx.execute(sql`
    insert into mail_links (id, account_id, kind, token_hash, email, expires_at)
    values (${uuidv7()}, ${accountId}, ${kind}, ${tokenHash}, ${email}, now() + make_interval(mins => ${minutes}))`)
  return token
}

/** Give a waiting sign-up its link. The database keeps only the hash of its token. Returns the token, for the mail. */
export async function makeSignUpLink(tx: Tx, signUpId: string): Promise<string> {
  const { token, tokenHash } = mintToken()
  await tx.execute(sql`
    update sign_ups set token_hash = ${tokenHash}, expires_at = now() + make_interval(hours => ${SignUpHours})
    where id = ${signUpId}`)
  return token
}

/** Give a new address that waits its link, as for a sign-up. Returns the token, for the mail. */
export async function makeNewAddressLink(tx: Tx, linkId: string): Promise<string> {
  const { token, tokenHash } = mintToken()
  await tx.execute(sql`
    update mail_links set token_hash = ${tokenHash}, expires_at = now() + make_interval(hours => ${NewAddressHours})
    where id = ${linkId}`)
  return token
}

function mintToken(): { token: string; tokenHash: Uint8Array } {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: createHash('sha256').update(token).digest() }
}

/**
 * End a mail: it was sent, was refused for good, or nobody is to get it. Its content is erased, unless `keep`. Any
 * worker may record that it was sent, no matter who holds the lease.
 */
export async function endMail(
  tx: Tx,
  mail: ClaimedMail,
  {
    state,
    failure = null,
    keep = false,
  }: { state: 'sent' | 'failed' | 'dropped'; failure?: string | null; keep?: boolean },
): Promise<void> {
  await tx.execute(sql`
    update mails set
      state = ${state}::mail_state, failure = ${failure}, next_attempt_at = null, lease_token = null, lease_until = null,
      ended_at = now(), content = case when ${keep} then content end
    where id = ${mail.id} and state = 'pending' and (${state === 'sent'} or lease_token = ${mail.leaseToken})`)
}

/** Try a mail again later, by the steps of the engine, until it is given up. Returns after how many milliseconds. */
export async function postponeMail(
  tx: Tx,
  { backoffMs }: Pick<Times, 'backoffMs'>,
  mail: ClaimedMail,
  failure: string,
): Promise<number> {
  const waitMs = backoffMs[Math.min(mail.attemptNo, backoffMs.length) - 1]!
  await tx.transaction(async (tx) => {
    await tx.execute(sql`
      update mails set
        next_attempt_at = now() + ${ms(waitMs)}, failure = ${failure}, lease_token = null, lease_until = null
      where id = ${mail.id} and state = 'pending' and lease_token = ${mail.leaseToken}`)
    await wakeMails(tx, [mail.id])
  })
  return waitMs
}

/** End the mails that waited too long. Returns how many. */
export async function giveUpMails(tx: Tx): Promise<number> {
  const ended = await tx.execute(sql`
    update mails set
      state = 'failed', failure = coalesce(failure, 'not_tried'), content = null, next_attempt_at = null,
      lease_token = null, lease_until = null, ended_at = now()
    where state = 'pending' and give_up_at <= now() and (lease_until is null or lease_until <= now())`)
  return ended.count
}
