import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../../db/log.ts'
import { sweep } from '../../../jobs/sweep/rows.ts'
import { atCommandLine } from '../../../server/access/audit.ts'
import { suspendOrganisation } from '../../../server/operations/suspension.ts'
import { aBrowser } from '../browser.ts'
import { aHouse, Password } from '../house.ts'
import { openWeb, type Web } from '../web.ts'

// Working copies, as the composer saves them by POST /posts/working-copy.

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

const locationOf = ({ headers }: { headers: Headers }) => headers.get('location')

async function aWriter() {
  const house = await aHouse(w)
  const { organisationId } = house
  const browser = aBrowser(w.site.appUrl)
  await browser.post('/login', { email: house.member.email, password: Password })
  const save = async (id: string, content: string, revision = 0) => {
    const typed = { content, channelIds: [], mediaIds: [], alts: {}, overrides: [], tags: '', date: '', time: '' }
    const copy = JSON.stringify({ id, isNew: true, revision, postVersion: null, ...typed })
    const { status, text } = await browser.post('/posts/working-copy', { forOrganisation: organisationId, copy })
    return { status, answer: JSON.parse(text) }
  }
  const saveAll = (count: number, content: string) =>
    Promise.all(Array.from({ length: count }, () => save(uuidv7(), content)))
  const stored = async () => {
    const [row] = await w.db.execute<{ count: number }>(sql`
      select count(*)::int from working_copies where organisation_id = ${organisationId}`)
    return row!.count
  }
  return { house, browser, save, saveAll, stored }
}

const refused = { status: 422, answer: { refused: 'too-many' } } // the composer keeps the text in the browser

test('a person has at most a hundred unfinished new posts, also when they are saved at once', async () => {
  const { browser, save, saveAll, stored } = await aWriter()
  const first = uuidv7()
  await save(first, 'first')
  await saveAll(95, 'x')
  const last = await saveAll(10, 'x')
  expect(last.filter(({ status }) => status === 200)).toHaveLength(4)
  expect(last.find(({ status }) => status !== 200)).toEqual(refused)
  expect(await stored()).toBe(100)

  expect(await save(first, 'first, changed', 1)).toEqual({ status: 200, answer: { revision: 2 } })
  const sent = await browser.post('/posts/new', { intent: 'draft', content: 'not saved', copy: uuidv7() })
  expect(sent.status).toBe(302)
  const one = await browser.post('/posts/new', { intent: 'draft', content: 'first, changed', copy: first })
  expect(one.status).toBe(302)
  expect((await save(uuidv7(), 'has room now')).status).toBe(200)
  expect(await save(uuidv7(), 'too many again')).toEqual(refused)
})

test('copies without a text, which no page lists, make room after a day', async () => {
  const { house, save, saveAll, stored } = await aWriter()
  await saveAll(90, '')
  await saveAll(10, 'x')
  expect(await save(uuidv7(), 'y')).toEqual(refused)
  await w.db.execute(sql`
    update working_copies set updated_at = now() - interval '25 hours' where organisation_id = ${house.organisationId}`)
  expect((await save(uuidv7(), 'y')).status).toBe(200)
  expect(await stored()).toBe(11)
})

test('the copies of one person leave another person all their room', async () => {
  const [full, other] = [await aWriter(), await aWriter()]
  await full.saveAll(100, 'x')
  expect(await full.save(uuidv7(), 'x')).toEqual(refused)
  expect((await other.save(uuidv7(), 'x')).status).toBe(200)
})

test('a suspended organisation is not told that it has too many', async () => {
  const { house, save } = await aWriter()
  await suspendOrganisation(w.db, atCommandLine, house.organisationId)
  expect(await save(uuidv7(), 'x')).toEqual({ status: 403, answer: { refused: 'invalid' } })
})

test('a copy whose id another organisation has sent stays, and becomes one post with an id of its own', async () => {
  const [one, other] = [await aWriter(), await aWriter()]
  const id = uuidv7()
  await one.save(id, 'written with care')
  const taken = await other.browser.post('/posts/new', { intent: 'draft', content: 'theirs', copy: id })
  expect(locationOf(taken)).toContain(id)

  await sweep(w.db, new AbortController().signal, createLog('worker', 'silent'))
  expect(await one.stored()).toBe(1)
  expect((await one.browser.get('/posts/new')).text).toContain('written with care')
  expect(await one.save(id, 'and more', 1)).toEqual({ status: 200, answer: { revision: 2 } })
  const send = () => one.browser.post('/posts/new', { intent: 'draft', content: 'written with care', copy: id })
  const [first, second] = [await send(), await send()]

  expect(first.status).toBe(302)
  expect(locationOf(first)).not.toContain(id)
  expect(locationOf(second)).toBe(locationOf(first))
  expect(await one.stored()).toBe(0)
  expect((await one.save(id, 'late', 2)).status).toBe(409)
})
