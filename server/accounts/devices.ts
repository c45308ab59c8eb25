import { and, eq, gt, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { accounts, devices } from '../../db/schema/accounts.ts'
import { digest, mintToken } from '../access/secrets.ts'

const DeviceDays = 365
const DevicesKept = 20 // of an account

/** The cookie of a device, sent once. A device is a browser that has signed in; it outlives its sessions. */
export type NewDevice = { token: string; expiresAt: Date }

/**
 * The name under which the failures of a device are counted; null unless the account with this e-mail has signed in on
 * it. It proves only that, and gives no access.
 */
export async function knownDevice(db: Db, email: string, token: string | null): Promise<string | null> {
  if (token === null) return null
  const tokenHash = digest(token)
  const [device] = await db
    .select({ accountId: devices.accountId })
    .from(devices)
    .innerJoin(accounts, eq(accounts.id, devices.accountId))
    .where(
      and(
        eq(devices.tokenHash, tokenHash),
        sql`lower(${accounts.email}) = lower(${email})`,
        gt(devices.expiresAt, sql`now()`),
      ),
    )
  return device ? `device ${Buffer.from(tokenHash).toString('base64url')}` : null
}

/**
 * The account has signed in on the device that sent `token` (null: none). The device gets a new token, which
 * its other accounts share. A token that somebody else put there stops working.
 */
export async function rememberDevice(tx: Tx, accountId: string, token: string | null): Promise<NewDevice> {
  const next = mintToken()
  const expiresAt = sql`now() + make_interval(days => ${DeviceDays})`
  const tokenHash = digest(next)
  if (token !== null)
    await tx
      .update(devices)
      .set({ tokenHash })
      .where(eq(devices.tokenHash, digest(token)))
  const [device] = await tx
    .insert(devices)
    .values({ tokenHash, accountId, expiresAt })
    .onConflictDoUpdate({ target: [devices.tokenHash, devices.accountId], set: { expiresAt } })
    .returning({ expiresAt: devices.expiresAt })
  await tx.execute(sql`
    delete from devices where account_id = ${accountId} and token_hash in (
      select token_hash from devices where account_id = ${accountId} order by expires_at desc offset ${DevicesKept})`)
  return { token: next, expiresAt: device!.expiresAt }
}

/** Forget all devices of the account. */
export async function forgetDevices(tx: Tx, accountId: string): Promise<void> {
  await tx.delete(devices).where(eq(devices.accountId, accountId))
}
