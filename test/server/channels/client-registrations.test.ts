import { afterAll, beforeAll, expect, test } from 'vitest'
import { clientRegistrations } from '../../../db/schema/channels.ts'
import type { Api } from '../../../server/router.ts'
import { anOrganisation } from '../../builders.ts'
import { type FakeMastodon, fakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'
import { type World, world } from '../../world.ts'
import { ownerIn } from '../web.ts'
import { beginAt, comeBack, connectAt } from './consent.ts'

let w: World
let api: Api
let server: FakeMastodon
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  w = await world()
  api = await ownerOf(w.organisationId)
  server = await fakeMastodon()
})
afterAll(async () => {
  await server.close()
  for (const close of closing) await close()
  await w.end()
})

async function ownerOf(organisationId: string): Promise<Api> {
  const owner = await ownerIn({ ...w, organisationId })
  closing.push(owner.close)
  return owner.api
}

const clientAt = (url: string) => new URL(url).searchParams.get('client_id')

test('one app is registered at a server, however often it is connected, and none is shared with another organisation', async () => {
  const first = clientAt(await beginAt(api, server))
  await connectAt(api, server)
  expect(clientAt(await beginAt(api, server))).toBe(first)
  expect(server.apps.size).toBe(1)
  const others = await ownerOf((await anOrganisation(w.db)).organisationId)
  expect(clientAt(await beginAt(others, server))).not.toBe(first)
  const [row] = await w.db.select().from(clientRegistrations)
  const secret = [...server.apps.values()][0]!.secret
  expect(Buffer.from(row!.sealed).toString('latin1')).not.toContain(secret)
})

test('an app that the server no longer knows is registered again, once', async () => {
  const before = clientAt(await beginAt(api, server))
  server.apps.delete(before!)
  const after = clientAt(await beginAt(api, server))
  expect(after).not.toBe(before)
  expect(clientAt(await beginAt(api, server))).toBe(after)
})

test('an app that the server forgets during the consent is registered again at the next try', async () => {
  const url = await beginAt(api, server)
  server.apps.delete(clientAt(url)!)
  await expect(comeBack(api, server.consent(url))).rejects.toThrow()
  await connectAt(api, server)
  expect(server.apps.has(clientAt(await beginAt(api, server))!)).toBe(true)
})

test('a server that knows no tokens of apps keeps its registration as well', async () => {
  const plain = await fakeMastodon({ givesAppTokens: false })
  await connectAt(api, plain)
  await connectAt(api, plain)
  expect(plain.apps.size).toBe(1)
  await plain.close()
})
