import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { throttles } from '../../../db/schema/api.ts'
import { aBrowser } from '../browser.ts'
import { holdDelays } from '../house.ts'
import { type Beside, openBeside, openWeb, type Web } from '../web.ts'

// Somebody tries passwords for as long as they like; the owner of the account signs in all the same.

const OwnTries = 5 // of an address on an account
const password = 'a good password'
const email = 'ada@example.org'
const settings = { TRUST_PROXY: '1', AUTH_RATE_LIMIT: '1000' }

let w: Web
let other: Beside
let home: ReturnType<typeof aBrowser> // where Ada signed up
beforeAll(async () => {
  w = await openWeb(settings)
  other = await openBeside(w, settings)
  home = browserAt('198.51.100.1')
  const person = { name: 'Ada', email, password, organisation: 'Works' }
  expect((await home.post('/signup', person)).status).toBe(302)
})
beforeEach(() => w.db.delete(throttles))
afterAll(async () => {
  await other.end()
  await w.end()
})

const browserAt = (address: string, site = w.site) => aBrowser(site.appUrl, { headers: { 'x-forwarded-for': address } })

const tryFrom = (address: string, tried = 'a wrong guess', { site = w.site, as = email } = {}) =>
  browserAt(address, site).post('/login', { email: as, password: tried })

/** On a device, whose session has ended. */
function tryOn(device: typeof home, tried: string) {
  device.jar.cookie = ''
  return device.post('/login', { email, password: tried })
}

/** How many of these were looked at, and found wrong; the others were told to wait. */
async function wrongOf(tries: ReturnType<typeof tryFrom>[]): Promise<number> {
  const answers = await Promise.all(tries)
  const refused = answers.filter(({ status }) => status === 429)
  for (const { headers, text } of refused) {
    const wait = Number(headers.get('retry-after'))
    expect(wait).toBeGreaterThanOrEqual(1)
    expect(wait).toBeLessThanOrEqual(60)
    expect(text).toMatch(/Too many failed attempts\. Try again in \d+ s\./)
  }
  const wrong = answers.filter(({ status }) => status === 401)
  expect(wrong.length + refused.length).toBe(answers.length)
  return wrong.length
}

const burst = (count: number, addressOf: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => tryFrom(addressOf(i), `wrong ${i}`, { site: i % 2 ? w.site : other.site }))

/** The delay of the account after so many failures; from the sixth on each waits twice as long, up to a minute. */
const delays = [1, 2, 4, 8, 16, 32, 60, 60, 60]

/** As many as may be looked at in `ms` once the own tries are used up. */
function laterTries(ms: number): number {
  const ends = delays.map((_, i) => delays.slice(0, i + 1).reduce((sum, seconds) => sum + seconds * 1000, 0))
  return ends.filter((end) => end <= ms).length
}

const rowsNow = () => w.db.execute(sql`select ctid::text, xmin::text, key, points, expire from throttles order by key`)

/** Let `seconds` pass for all that is counted. */
const pass = (seconds: number) =>
  w.db.execute(sql`update throttles set expire = expire - ${seconds} * interval '1 second'`)

describe('while somebody goes on', () => {
  test('from one address, the owner signs in from a fresh address, and from a known device at that very address', async () => {
    const attacker = '192.0.2.66'
    for (let round = 0; round < 4; round++) {
      await wrongOf(burst(25, () => attacker))
      expect((await tryFrom(`198.51.100.${10 + round}`, password)).status).toBe(302)
      const device = home.at('x-forwarded-for', attacker)
      expect((await tryOn(device, password)).status).toBe(302)
      await pass(20)
    }
  })

  test('from many addresses, the owner signs in from a fresh address and from a known device, also after mistakes', async () => {
    for (let round = 0; round < 3; round++) await wrongOf(burst(30, (i) => `192.0.2.${round * 10 + (i % 10)}`))
    expect(await wrongOf(Array.from({ length: OwnTries - 1 }, () => tryFrom('198.51.100.20')))).toBe(OwnTries - 1)
    expect((await tryFrom('198.51.100.20', password)).status).toBe(302)
    for (let i = 0; i < OwnTries - 1; i++) expect((await tryOn(home, 'mistyped')).status).toBe(401)
    expect((await tryOn(home, password)).status).toBe(302)
  })

  test('a device that signed in to another account is not known for this one', async () => {
    const eve = browserAt('192.0.2.70')
    const person = { name: 'Eve', email: 'eve@example.org', password, organisation: 'Evil' }
    expect((await eve.post('/signup', person)).status).toBe(302)
    await wrongOf(Array.from({ length: OwnTries }, () => tryOn(eve, 'a wrong guess')))
    await holdDelays(w.db)
    expect((await tryOn(eve, password)).status).toBe(429)
  })

  test('a device has 5 tries as well, and then its own delay', async () => {
    expect(await wrongOf(Array.from({ length: OwnTries }, () => tryOn(home, 'mistyped')))).toBe(OwnTries)
    await holdDelays(w.db)
    expect((await tryOn(home, 'mistyped')).status).toBe(429)
    await wrongOf(burst(20, () => '192.0.2.71'))
    await w.db.execute(sql`update throttles set expire = now() where key like 'delay:sign-in:device%'`)
    expect((await tryOn(home, password)).status).toBe(302)
  })
})

describe('an address', () => {
  test('has its own 5 tries on an account, and then waits for the account', async () => {
    expect(await wrongOf(Array.from({ length: OwnTries }, () => tryFrom('192.0.2.1')))).toBe(OwnTries)
    await holdDelays(w.db)
    expect((await tryFrom('192.0.2.1', password)).status).toBe(429)
    expect((await tryFrom('192.0.2.1', password, { as: 'somebody@example.org' })).status).toBe(401)
    expect((await tryFrom('192.0.2.2')).status).toBe(401)
  })

  test('is one for the 2^64 of an IPv6 network, and however an IPv4 address is written', async () => {
    for (const same of [
      (i: number) => `2001:db8:0:1::${(i * 4099).toString(16)}`,
      (i: number) => ['203.0.113.9', '::ffff:203.0.113.9', '::ffff:cb00:7109', '203.0.113.9:4711'][i % 4]!,
    ]) {
      expect(await wrongOf(Array.from({ length: OwnTries }, (_, i) => tryFrom(same(i))))).toBe(OwnTries)
      await holdDelays(w.db)
      expect(await wrongOf(Array.from({ length: 8 }, (_, i) => tryFrom(same(i))))).toBe(0)
    }
    expect((await tryFrom('2001:db8:0:2::1')).status).toBe(401) // the next network
  })

  test('is forgiven its failures by the right password', async () => {
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < OwnTries - 1; i++) expect((await tryFrom('192.0.2.3')).status).toBe(401)
      expect((await tryFrom('192.0.2.3', password)).status).toBe(302)
    }
  })
})

describe('the delay of an account', () => {
  test('grows to 60 s and no further', async () => {
    await wrongOf(Array.from({ length: OwnTries - 1 }, () => tryFrom('192.0.2.4')))
    for (const seconds of delays) {
      const start = performance.now()
      expect((await tryFrom('192.0.2.4')).status).toBe(401)
      if (seconds > 8) {
        const { status, headers } = await tryFrom('192.0.2.4')
        const passed = (performance.now() - start) / 1000
        const wait = Number(headers.get('retry-after'))
        expect([status, wait <= seconds, wait >= seconds - passed]).toEqual([429, true, true])
      }
      await w.db.execute(sql`update throttles set expire = now() where key like 'delay%'`)
    }
  })

  test('is not prolonged by refused tries, which write nothing', async () => {
    for (let i = 0; i < 4; i++) {
      await wrongOf(Array.from({ length: OwnTries }, () => tryFrom('192.0.2.5')))
      await w.db.execute(sql`update throttles set expire = now() where key like 'delay%'`)
    }
    expect((await tryFrom('192.0.2.5')).status).toBe(401)
    await holdDelays(w.db)
    const before = await rowsNow()
    expect(await wrongOf(Array.from({ length: 20 }, () => tryFrom('192.0.2.5')))).toBe(0)
    expect(await rowsNow()).toEqual(before)
  })

  test('is not prolonged by the failures of others, who have tries of their own', async () => {
    await wrongOf(Array.from({ length: OwnTries }, () => tryFrom('192.0.2.6')))
    for (let i = 0; i < 5; i++) await tryFrom(`192.0.2.${100 + i}`)
    const delayed = async () =>
      (await w.db.execute<{ expire: string }>(sql`select expire::text from throttles where key like 'delay%'`))[0]!
        .expire
    await w.db.execute(sql`update throttles set expire = now() + interval '30 seconds' where key like 'delay%'`)
    const until = await delayed()
    for (let i = 0; i < 5; i++) expect((await tryFrom(`192.0.2.${110 + i}`)).status).toBe(401)
    expect(await delayed()).toBe(until)
  })
})

describe('of wrong passwords at once', () => {
  test.each([
    ['50 from one address', 50, 1],
    ['80 from 8 addresses', 80, 8],
  ])('%s over two processes no more are looked at than each address has tries', async (_, count, addresses) => {
    const start = performance.now()
    const wrong = await wrongOf(burst(count, (i) => `192.0.2.${150 + (i % addresses)}`))
    expect(wrong).toBeGreaterThanOrEqual(OwnTries * addresses)
    expect(wrong).toBeLessThanOrEqual(OwnTries * addresses + laterTries(performance.now() - start))
  })
})

test('what is counted of a failure is gone a quarter of an hour later, and nothing of it names a person', async () => {
  for (let i = 0; i < 3; i++) await tryFrom(`192.0.2.${200 + i}`, 'wrong', { as: `Nobody${i}@Example.org` })
  for (const row of await rowsNow()) expect(JSON.stringify(row)).not.toMatch(/nobody|example\.org/i)
  const [left] = await w.db.execute<{ longest: number }>(
    sql`select extract(epoch from max(expire) - now())::int as longest from throttles`,
  )
  expect(left!.longest).toBeLessThanOrEqual(15 * 60)
})
