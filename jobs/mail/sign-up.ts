import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { Deps } from '../deps.ts'
import { laidOut } from './layout.ts'
import { signUpLetter, takenLetter } from './letters.ts'
import { type ClaimedMail, type Message, makeSignUpLink } from './outbox.ts'

/**
 * The message for a sign-up: the link that creates the account. If the address has an account already, its owner is
 * told so, and the sign-up ends. Null: the sign-up has expired.
 *
 * It has nothing in it that the caller typed, except the address: anyone can type anyone's.
 */
export async function signUpMessage({ appUrl }: Deps, tx: Tx, mail: ClaimedMail): Promise<Message | null> {
  // Only the lease's holder may make the link: a second one would replace the first.
  const [signUp] = await tx.execute<{ id: string; email: string; accountEmail: string | null }>(sql`
    select s.id, s.email, a.email as "accountEmail"
    from mails m join sign_ups s on s.id = any(m.subject_ids)
    left join accounts a on lower(a.email) = lower(s.email)
    where m.id = ${mail.id} and m.lease_token = ${mail.leaseToken} and s.expires_at > now()
    for update of m`)
  if (!signUp) return null
  const { id, email, accountEmail } = signUp
  if (accountEmail !== null) {
    await tx.execute(sql`delete from sign_ups where id = ${id}`)
    return laidOut(takenLetter(accountEmail, appUrl), accountEmail)
  }
  const token = await makeSignUpLink(tx, id)
  return laidOut(signUpLetter(email, `${appUrl}/confirm?token=${token}`), email)
}
