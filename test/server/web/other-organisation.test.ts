import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anOrganisation } from '../../builders.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

const Ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
let w: Web
let browser: ReturnType<typeof aBrowser>
let ours: string
let other: string
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
  browser = aBrowser(w.site.appUrl)
  expect((await browser.post('/signup', Ada)).status).toBe(302)
  other = (await anOrganisation(w.db, 'Other')).organisationId
  const [member] = await w.db.execute<{ organisation_id: string }>(sql`
    select m.organisation_id from memberships m join accounts a on a.id = m.account_id where a.email = ${Ada.email}`)
  ours = member!.organisation_id
  await w.db.execute(sql`
    insert into memberships (organisation_id, account_id, role, created_at)
    select ${other}, id, 'owner', now() from accounts where email = ${Ada.email}`)
})
afterAll(() => w.end())

test('a form of a page that showed another organisation is 409 and changes nothing', async () => {
  const post = { intent: 'draft', content: 'for the other client', copy: randomUUID() }
  const refused = await browser.post('/posts/new', { ...post, forOrganisation: other })
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('You switched to another organisation in another tab. Nothing was changed.')
  expect(await w.db.execute(sql`select from posts`)).toHaveLength(0)

  expect((await browser.post('/posts/new', { ...post, forOrganisation: ours })).status).toBe(302)
  expect(await w.db.execute(sql`select from posts where organisation_id = ${ours}`)).toHaveLength(1)
})

test('a page that goes on after its session ended signs in to its own organisation, and to no foreign one', async () => {
  const { organisationId: foreign } = await anOrganisation(w.db, 'Foreign')
  const begun = async (organisationId: string) => {
    const person = { email: Ada.email, password: Ada.password, organisationId }
    const answer = await browser.post('/sign-in-again', person)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { isSignedIn: true }])
    const [last] = await w.db.execute<{ organisation_id: string }>(sql`
      select organisation_id from sessions order by created_at desc limit 1`)
    return last!.organisation_id
  }
  expect(await begun(other)).toBe(other)
  expect(await begun(ours)).toBe(ours)
  expect(await begun(foreign)).toBe(ours)
})
