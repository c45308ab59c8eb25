import { eq } from 'drizzle-orm'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { accounts } from '../../db/schema/accounts.ts'
import { isOperator } from '../access/credentials.ts'
import type { Context } from '../access/trpc.ts'
import { failures } from '../error-catalogue.ts'
import { Failure } from '../errors.ts'

// Which account has an e-mail address.

/** Lock an account. If its links change too, they are locked after it. Null: it was deleted. */
export async function lockAccount(tx: Tx, accountId: string) {
  const { id, email, emailVerifiedAt, passwordHash } = accounts
  const [person] = await tx
    .select({ id, email, emailVerifiedAt, passwordHash })
    .from(accounts)
    .where(eq(accounts.id, accountId))
    .for('no key update')
  return person ?? null
}

/**
 * Throws `email_reserved` for an operator's address. It gives power over the whole installation, and the password may be
 * that of somebody who only typed the address.
 */
export function requireFree(env: Context['env'], email: string): void {
  if (!isOperator(env, email)) return
  const message =
    'This e-mail address belongs to an operator of this installation. Create its account with `npm run admin -- create-account`.'
  throw new Failure('email_reserved', { detail: message, errors: [{ path: 'email', code: 'email_reserved', message }] })
}

/** Write an account's address. Throws `email_taken`, with this `message`, if another account has it. */
export async function orEmailTaken<T>(
  write: () => Promise<T>,
  message: string = failures.email_taken.sentence,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    throw new Failure('email_taken', { errors: [{ path: 'email', code: 'email_taken', message }], cause: error })
  }
}
