import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { Deps } from '../deps.ts'
import { laidOut } from './layout.ts'
import { addressTakenLetter, newAddressLetter } from './letters.ts'
import { type ClaimedMail, type Message, makeNewAddressLink } from './outbox.ts'

/**
 * The message for an address that an account asked for: the link that gives it to the account. If an account has it
 * already, its owner is told so, and the address goes on waiting without a link: the page of the account that asked says
 * the same for every address. Null: it no longer waits.
 */
export async function newAddressMessage({ appUrl }: Deps, tx: Tx, mail: ClaimedMail): Promise<Message | null> {
  // Only the lease's holder may make the link: a second one would replace the first.
  const [link] = await tx.execute<{ id: string; email: string; ownerEmail: string | null }>(sql`
    select l.id, l.email, a.email as "ownerEmail"
    from mails m join mail_links l on l.id = any(m.subject_ids) and l.account_id = m.account_id
    left join accounts a on lower(a.email) = lower(l.email)
    where m.id = ${mail.id} and m.lease_token = ${mail.leaseToken} and l.kind = 'new_address' and l.expires_at > now()
    for update of m, l`)
  if (!link) return null
  const { id, email, ownerEmail } = link
  if (ownerEmail !== null) return laidOut(addressTakenLetter(ownerEmail, appUrl), ownerEmail)
  const token = await makeNewAddressLink(tx, id)
  return laidOut(newAddressLetter(email, `${appUrl}/new-address?token=${token}`), email)
}
