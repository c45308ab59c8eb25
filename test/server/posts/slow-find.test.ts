import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aBrowser } from '../browser.ts'
import { aHouse, type House, Password } from '../house.ts'
import { callApi, openWeb, type Web } from '../web.ts'

// A search that LIKE takes seconds for, as somebody would send it who wants the web process to stand still.

const Texts = 460
const Words = `${'a'.repeat(199)}b`

let w: Web
let slow: House
let browser: ReturnType<typeof aBrowser>
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
  slow = await aHouse(w)
  await w.db.execute(sql`
    insert into posts (id, organisation_id, type, content, tags, told, created_by_kind, created_by_id, created_by_name)
    select gen_random_uuid(), ${slow.organisationId}, 'draft', 'x', '{}', 'DRAFT', 'member', ${slow.accountId}, 'Ada'
    from generate_series(1, ${Texts})`)
  await w.db.execute(sql`
    update post_search set texts = repeat('a', 99990) || ' aab' where organisation_id = ${slow.organisationId}`)
  await w.db.execute(sql`analyze posts, post_search`) // as autovacuum does soon
  browser = aBrowser(w.site.appUrl)
  await browser.post('/login', { email: slow.member.email, password: Password })
})
afterAll(() => w.end())

const find = (more = '') => browser.get(`/posts/find?words=${Words}${more}`)
const millisecondsOf = async (work: Promise<unknown>) => {
  const begun = performance.now()
  await work
  return Math.round(performance.now() - begun)
}
const searching = async () => {
  const [row] = await w.db.execute<{ count: number }>(sql`
    select count(*)::int from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%post_search s%' and pid <> pg_backend_pid()`)
  return row!.count
}

test('ten slow searches of one organisation delay no call of another one, and each is answered with a sentence', async () => {
  const other = await aHouse(w)
  const finds = Array.from({ length: 10 }, () => find())
  await expect.poll(searching).toBe(2)
  const waits: number[] = []
  for (let i = 0; i < 5; i++)
    waits.push(await millisecondsOf(callApi(w.site.appUrl, 'GET', '/channels', { key: other.key })))
  expect(await searching()).toBeLessThan(3)
  expect(Math.max(...waits), `${waits}`).toBeLessThan(1500) // 30 s when they took all connections

  const answers = await Promise.all(finds)
  expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(8).fill(422), 429, 429])
  for (const { status, text, headers } of answers) {
    expect(text).toContain(status === 422 ? 'This search takes too long. Enter a longer word' : 'Too many searches')
    expect(text).not.toContain('No posts found')
    expect(headers.get('retry-after')).toBe(status === 422 ? null : '10')
  }
})

test('a slow search with a tag, or for a few days, is quick', async () => {
  for (const more of ['&tag=spring', '&from=2031-04-02&to=2031-04-03'])
    expect({ more, status: (await find(more)).status }).toEqual({ more, status: 200 })
})
