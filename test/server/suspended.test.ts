import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { atCommandLine } from '../../server/activity.ts'
import { suspendOrganisation, unsuspendOrganisation } from '../../server/suspension.ts'
import { aKeyOfAllScopes, anOrganisation } from '../builders.ts'
import { aBrowser } from './browser.ts'
import { callApi, expectProblem, webWithChannel } from './web.ts'

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
})
