import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { pause, resume } from '../../../jobs/ledger/pause.ts'
import { worldWithOwner } from '../web.ts'

// What an organisation's pages say about pauses of operators.

const w = worldWithOwner()

afterEach(() => w.db.execute(sql`delete from channels`))

const shown = async () => (await w.api.account.show()).pause
const nameIt = (id: string, name: string) => w.db.execute(sql`update channels set name = ${name} where id = ${id}`)

test('a pause of everything is shown to everybody, without names', async () => {
  expect(await shown()).toBe(null)
  const since = await pause(w.db, { scope: 'all' })
  expect(await shown()).toEqual({ since: since.toISOString(), networks: [], channels: [] })
  await resume(w.db, { scope: 'all' })
  expect(await shown()).toBe(null)
})

test('a restored backup that nobody has resumed counts as a pause', async () => {
  await w.db.execute(sql`update installation set restored_at = now()`)
  expect(await shown()).toMatchObject({ networks: [], channels: [] })
})

test('a pause of a network is shown to organisations with a channel there', async () => {
  const since = await pause(w.db, { scope: 'network', name: 'readable' })
  expect(await shown()).toBe(null)
  const channelId = await w.channel('readable')
  expect(await shown()).toEqual({ since: since.toISOString(), networks: ['readable'], channels: [] })
  await w.db.execute(sql`update channels set status = 'disconnected' where id = ${channelId}`)
  expect(await shown()).toBe(null)
})

test('a pause of a channel is shown to its organisation only', async () => {
  const [ours, other] = [await w.channel('readable'), await w.channel('blind')]
  await nameIt(ours, 'Ada')
  await nameIt(other, 'Bob')
  await pause(w.db, { scope: 'channel', id: ours })
  expect(await shown()).toMatchObject({ networks: [], channels: ['Ada'] })
  await w.db.execute(sql`
    with theirs as (insert into organisations (id, name) values (gen_random_uuid(), 'Theirs') returning id)
    insert into channels (id, organisation_id, network, remote_account, name, limits, credential, paused_at)
    select gen_random_uuid(), theirs.id, network, 'x', 'Eve', limits, credential, now() from channels, theirs where channels.id = ${other}`)
  expect(await shown()).toMatchObject({ networks: [], channels: ['Ada'] })
  await pause(w.db, { scope: 'all' })
  expect(await shown()).toMatchObject({ networks: [], channels: [] }) // the widest is enough to say
})
