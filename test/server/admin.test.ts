import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { variablesWith } from '../../db/env.ts'
import { deliveries } from '../../db/schema.ts'
import { aDelivery } from '../builders.ts'
import { webWithChannel } from './web.ts'

const w = webWithChannel()

/** What an operator's command prints, and on standard error instead when it fails. */
async function admin(...command: string[]) {
  const file = resolve(import.meta.dirname, '../../server/admin.ts')
  const run = promisify(execFile)(process.execPath, [file, ...command], { env: variablesWith(w.site.env) })
  return run.then(
    ({ stdout }) => ({ said: JSON.parse(stdout), refused: null }),
    ({ stderr }: { stderr: string }) => ({ said: null, refused: stderr.trim() }),
  )
}

test('an operator finds a late delivery, sees all of it by its id and all of its post by the post’s, and sends it again', async () => {
  const { organisationId, channelId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() - 60_000) })
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, id))
  const { postId } = row!
  expect((await admin('overdue')).said).toMatchObject([{ id, postId, state: 'scheduled' }])
  const shown = (await admin('show', id)).said
  expect(shown).toMatchObject({ delivery: { id }, attempts: [], channel: { network: 'feed' } })
  expect(JSON.stringify(shown)).not.toContain('credential"')
  expect((await admin('show', postId)).said).toEqual({ deliveries: [shown] })
  await w.db.update(deliveries).set({ state: 'failed' }).where(eq(deliveries.id, id))
  expect((await admin('retry', id)).said).toMatchObject({ id: postId, status: 'SCHEDULED' })
})

test('what is not there is told in a sentence', async () => {
  expect((await admin('show', 'nope')).refused).toBe('There is no delivery and no post nope.')
  expect((await admin('retry', 'nope')).refused).toBe('There is no delivery nope.')
  expect((await admin('connect', 'feed', '--organisation', 'nope', '--name', 'x')).refused).toBe(
    'There is no organisation nope.',
  )
})
