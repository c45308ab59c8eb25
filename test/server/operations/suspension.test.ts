import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { atCommandLine } from '../../../server/access/audit.ts'
import { suspendOrganisation, unsuspendOrganisation } from '../../../server/operations/suspension.ts'
import { aChannel, aKeyOfAllScopes, anOrganisation, someDeliveries } from '../../builders.ts'
import { aBrowser } from '../browser.ts'
import { callApi, expectProblem, webWithChannel } from '../web.ts'

const w = webWithChannel()
const Picture = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const aFile = () => {
  const form = new FormData()
  form.append('file', new Blob([Picture]))
  return form
}

test('a suspended organisation reads, and makes, changes and uploads nothing, until the suspension ends', async () => {
  const later = { type: 'schedule', date: new Date(Date.now() + 3_600_000).toISOString(), content: 'later' }
  const aPost = { ...later, channelIds: [w.channelId] }
  const made = await w.call('POST', '/posts', { json: aPost })
  expect(made.status).toBe(201)
  const path = `/posts/${made.json.id}`
  await suspendOrganisation(w.db, atCommandLine, w.organisationId)

  for (const read of [path, '/posts', '/channels', '/media', '/me'])
    expect((await w.call('GET', read)).status).toBe(200)
  expect((await w.call('GET', '/channels')).json.data[0].status).toBe('PAUSED')
  for (const refused of [
    await w.call('POST', '/posts', { json: aPost }),
    await w.call('PATCH', path, { json: { content: 'other' } }),
    await w.call('DELETE', path),
    await w.call('POST', `${path}/retry`),
    await w.call('POST', '/media', { body: aFile() }),
    await w.call('POST', '/media/upload-from-url', { json: { url: 'http://127.0.0.1:9/' } }),
  ])
    expectProblem(refused, 403, 'organisation_suspended')
  const other = await anOrganisation(w.db)
  const key = await aKeyOfAllScopes(w.db, other)
  expect((await callApi(w.site.appUrl, 'POST', '/media', { key, body: aFile() })).status).toBe(201)

  await unsuspendOrganisation(w.db, atCommandLine, w.organisationId)
  expect((await w.call('PATCH', path, { json: { content: 'other' } })).status).toBe(200)
})

test('what a suspended organisation has due is no standstill, and hides none', async () => {
  const ready = async () => (await fetch(`${w.site.appUrl}/readyz`)).text()
  const suspended = await anOrganisation(w.db)
  await suspendOrganisation(w.db, atCommandLine, suspended.organisationId)
  const due = async ({ organisationId }: { organisationId: string }, count: number, minutesAgo: number) => {
    const channelId = await aChannel(w.db, w.site.secretKey, { organisationId, network: 'feed' })
    const dueAt = new Date(Date.now() - minutesAgo * 60_000)
    return someDeliveries(w.db, Array(count).fill({ organisationId, channelId, dueAt }))
  }
  await due(suspended, 1100, 60)
  await due(suspended, 1100, 2)
  expect(await ready()).toBe('ready\n')
  await due(await anOrganisation(w.db), 1, 3)
  expect(await ready()).toMatch(/not publishing: posts due since .* have not gone out; workers alive: 0/)
})

test('its people read on each page what has happened, and are offered no new post', async () => {
  const browser = aBrowser(w.site.appUrl)
  const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  expect((await browser.post('/signup', ada)).status).toBe(302)
  const sentence = 'The operator of this site has suspended your organisation.'
  const before = (await browser.get('/')).text
  expect(before).not.toContain(sentence)
  expect(before).toContain('href="/posts/new"')
  const [{ id } = { id: '' }] = await w.db.execute<{ id: string }>(
    sql`select id from organisations where name = 'Works'`,
  )
  await suspendOrganisation(w.db, atCommandLine, id)
  const after = (await browser.get('/')).text
  expect(after).toContain(sentence)
  expect(after).not.toContain('href="/posts/new"')
  expect((await browser.post('/posts/new', { content: 'hello', type: 'draft' })).status).toBe(403)
  expect((await browser.get('/posts/new')).text).toContain('create posts while your organisation is suspended.')
  expect(await answerToUnfinishedUpload(browser.jar.cookie)).toBe(403)
})

// Of a file of which nothing ever comes: whoever waits for it does not answer.
async function answerToUnfinishedUpload(cookie: string): Promise<number> {
  const headers = {
    cookie,
    origin: w.site.appUrl,
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': 1000,
  }
  const req = request(`${w.site.appUrl}/media`, { method: 'POST', headers })
  req.flushHeaders()
  const [answer] = (await once(req, 'response')) as [IncomingMessage]
  req.destroy()
  return answer.statusCode!
}
