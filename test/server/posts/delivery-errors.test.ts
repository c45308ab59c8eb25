import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { aDelivery } from '../../builders.ts'
import { webWithChannel } from '../web.ts'

const w = webWithChannel()

/** What the API shows of a delivery that failed with this stored error. */
async function shownOf(stored: { code: string; message: string; nextStep: string }) {
  const { organisationId, channelId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(), state: 'failed' })
  const [row] = await w.db.execute<{ postId: string }>(sql`
    update deliveries set error = ${JSON.stringify(stored)}::jsonb where id = ${id} returning post_id as "postId"`)
  const { json } = await w.call('GET', `/posts/${row!.postId}`)
  return json.deliveries[0].error
}

test('an error that was stored with the sentence of another version is shown with the sentence of this one', async () => {
  const stored = { code: 'missed', message: 'Its hour was more than a day ago.', nextStep: 'Begin again.' }
  expect(await shownOf(stored)).toEqual({
    code: 'missed',
    message: 'Not sent: it was already more than a day late when sending became possible.',
    nextStep: 'Send it now or cancel it.',
  })
})

test('what a network said is shown as it was stored', async () => {
  const stored = { code: 'network_refused', message: 'social.example says: too long', nextStep: 'Make it shorter.' }
  expect(await shownOf(stored)).toEqual(stored)
})
