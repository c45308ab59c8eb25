import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { hashPassword } from '../../../server/access/secrets.ts'
import { createAccount, createOrganisation } from '../../../server/accounts/account.ts'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import type { Site } from '../../processes.ts'
import { Password } from '../browser.ts'

export const Operator = 'grace@example.org'

/** Sign the operator in, whose account only the command line can make. */
export async function signInOperator(page: Page, db: Db, site: Site): Promise<void> {
  const accountId = await createAccount(db, {
    name: 'Grace',
    email: Operator,
    passwordHash: await hashPassword(Password),
  })
  await createOrganisation(db, 'Harbour', accountId)
  const form = { email: Operator, password: Password }
  const answer = await page.request.post('/login', { form, headers: { origin: site.appUrl } })
  if (answer.status() !== 200) throw new Error(`Signing in answered ${answer.status()}.`)
}

/** Something of each kind that is stuck, on channels that no worker sends to, and a day of what workers saw. */
export async function troubles(db: Db, secretKey: Buffer) {
  const { organisationId } = await anOrganisation(db, 'Analytical Engines and Difference Machines of London')
  const channel = async (network: string, name: string, status: 'active' | 'needs_reconnect' = 'active') => {
    const id = await aChannel(db, secretKey, { organisationId, network })
    await db.execute(sql`update channels set name = ${name}, status = ${status}::channel_status where id = ${id}`)
    return id
  }
  const paused = await channel('mastodon', 'Notes on the engine')
  await db.execute(sql`update channels set paused_at = now() - interval '2 hours' where id = ${paused}`)
  const broken = await channel('bluesky', 'ada.example.org', 'needs_reconnect')
  const stuck = (channelId: string, lateMs: number) =>
    aDelivery(db, { organisationId, channelId, dueAt: new Date(Date.now() - lateMs) })
  const error = (message: string, nextStep: string) => sql`${JSON.stringify({ code: 'x', message, nextStep })}::jsonb`
  const overdue = await stuck(paused, 5_400_000)
  const waiting = await stuck(paused, 600_000)
  await db.execute(sql`
    update deliveries set attempt_no = 3, next_attempt_at = now() + interval '20 minutes',
      error = ${error('The server could not be reached.', "We'll retry automatically.")} where id = ${waiting}`)
  const held = await stuck(broken, 7_200_000)
  await db.execute(sql`
    update deliveries set state = 'held',
      error = ${error('The network no longer accepts this connection.', 'Reconnect the channel: the post then goes out by itself.')}
    where id = ${held}`)
  const review = await stuck(paused, 86_400_000)
  await db.execute(sql`
    update deliveries set state = 'needs_review', maybe_out = true, prepared = '{}', attempt_no = 1,
      error = ${error('Nobody can tell whether the post went out.', 'Look at the account yourself, then say whether it is there.')}
    where id = ${review}`)
  const uncertain = await stuck(await channel('bluesky', 'charles.example.org'), 60_000)
  await db.execute(sql`
    update deliveries set state = 'uncertain', maybe_out = true, prepared = '{}', attempt_no = 1,
      look_at = now() + interval '1 hour', error = ${error('It took too long.', "We're checking if your post went out.")}
    where id = ${uncertain}`)
  const suspect = await stuck(paused, 3_000_000)
  await db.execute(sql`
    update deliveries set state = 'failed', crash_count = 3, attempt_no = 3,
      error = ${error('Three workers ended while they were at it.', 'Change the post, then retry.')} where id = ${suspect}`)
  return { organisationId, paused, overdue, waiting, held, review, uncertain, suspect }
}

/** What workers wrote down over the last day, with an hour in which none was there. */
export async function aDayOfMinutes(db: Db): Promise<void> {
  await db.execute(sql`
    insert into worker_minutes (at, owner, published, failed, lateness_p50_ms, lateness_p95_ms, lateness_max_ms, waiting, oldest_waiting_ms)
    select date_trunc('minute', now()) - n * interval '1 minute', ${uuidv7()}, 10 + n % 17, (n % 97 = 0)::int, 4,
      case when n between 300 and 330 then 45000 else 5 + n % 11 end, case when n between 300 and 330 then 190000 else 20 + n % 300 end,
      case when n between 300 and 330 then 1000 + n else n % 7 end, case when n between 300 and 330 then 180000 else n % 40 end
    from generate_series(0, 1400) n where n not between 700 and 790`)
}
