import { and, eq, ne, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { sessions } from '../../db/schema/accounts.ts'
import { digest, mintToken } from '../access/secrets.ts'
import { forgetDevices, type NewDevice, rememberDevice } from './devices.ts'

const SessionDays = 30
const SessionsKept = 50 // of an account

/** What the cookies carry, once: of the session, and of the device that it is on. */
export type NewSession = { token: string; expiresAt: Date; device: NewDevice }

/** The organisation that an account works in. */
export type Membership = { accountId: string; organisationId: string }

/** Begin a session of 30 days. Only an account's newest 50 sessions are kept. */
export async function startSession(tx: Tx, membership: Membership, device: string | null): Promise<NewSession> {
  const { accountId } = membership
  const token = mintToken()
  const row = { ...membership, tokenHash: digest(token), expiresAt: sql`now() + make_interval(days => ${SessionDays})` }
  const [session] = await tx.insert(sessions).values(row).returning({ expiresAt: sessions.expiresAt })
  await tx.execute(sql`
    delete from sessions where account_id = ${accountId} and id in (
      select id from sessions where account_id = ${accountId} order by created_at desc, id desc offset ${SessionsKept})`)
  return { token, expiresAt: session!.expiresAt, device: await rememberDevice(tx, accountId, device) }
}

/** Give a session a new token, so that a copy of the old one no longer works. Null: the session has ended meanwhile. */
export async function renewSession(
  tx: Tx,
  { id, sessionId }: { id: string; sessionId: string },
  device: string | null,
): Promise<NewSession | null> {
  const token = mintToken()
  const [session] = await tx
    .update(sessions)
    .set({ tokenHash: digest(token) })
    .where(eq(sessions.id, sessionId))
    .returning({ expiresAt: sessions.expiresAt })
  return session ? { token, expiresAt: session.expiresAt, device: await rememberDevice(tx, id, device) } : null
}

/** End the account's sessions, except `keptSessionId`, and forget its devices. */
export async function endSessions(tx: Tx, accountId: string, keptSessionId?: string): Promise<void> {
  await tx
    .delete(sessions)
    .where(and(eq(sessions.accountId, accountId), keptSessionId ? ne(sessions.id, keptSessionId) : undefined))
  await forgetDevices(tx, accountId)
}
