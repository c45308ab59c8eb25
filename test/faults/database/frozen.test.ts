import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { aKeyOfAllScopes, anOrganisation } from '../../builders.ts'
import { startCluster } from '../../postgres/cluster.ts'
import { testDatabase } from '../../postgres/database.ts'
import { startWeb, until } from '../../processes.ts'
import { callApi } from '../../server/web.ts'
import { deliveryOf, untilPublished, world } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { endOf, oneOfEach } from '../play.ts'

// All processes of PostgreSQL are stopped (SIGSTOP): connections stay open, the kernel accepts new ones, and nothing
// answers. Unlike a database that is away, nothing ends by itself. At the times of production.

describe.concurrent('PostgreSQL frozen: health checks report it at once, no call waits for it, and everything recovers by itself', () => {
  test.each([15, 60])('for %i s', { timeout: 300_000 }, async (seconds) => {
    await using site = await openSite()
    const { w, cluster, web, workers, answer } = site
    const ids = Object.values(await site.sending())
    const pending = site.ask() // a request that runs when PostgreSQL freezes, or just after
    await cluster.freeze()
    const frozenAt = performance.now()
    const thawAt = frozenAt + seconds * 1000
    answer() // the network now answers the running sends, and the results cannot be recorded
    const refused = { ready: 503, api: 503, page: 503, workers: [503, 503], live: [200, 200, 200] }
    await until(async () => isDeepStrictEqual(await site.ask(), refused))
    const noticedMs = performance.now() - frozenAt
    let asked = 0
    let slowestMs = 0
    while (performance.now() < thawAt - 6000) {
      const begun = performance.now()
      const answers = await site.ask()
      slowestMs = Math.max(slowestMs, performance.now() - begun)
      asked++
      expect(answers).toEqual(refused)
    }
    expect(asked).toBeGreaterThan(0) // each was answered while PostgreSQL was frozen
    process.stdout.write(
      `PostgreSQL frozen for ${seconds} s: said after ${noticedMs.toFixed(0)} ms, then ${asked} answers, the slowest after ${slowestMs.toFixed(0)} ms\n`,
    )
    await sleep(thawAt - performance.now())
    await cluster.thaw()
    await pending
    await until(async () => (await site.ask()).ready === 200)
    await untilPublished(w.db, ids.slice(0, 3)) // the outcome of the fourth, the blind one, may be unknown
    for (const id of ids) {
      expect(await endOf(w, id)).toMatchObject({ out: 1 })
      expect(await deliveryOf(w.db, id)).toMatchObject({ crashCount: 0 })
    }
    await untilPublished(w.db, Object.values(await oneOfEach(w)))
    const well = { api: 200, workers: [200, 200] } // a worker drains until it gets a new owner id
    await until(async () => {
      const { api, workers } = await site.ask()
      return isDeepStrictEqual({ api, workers }, well)
    })
    expect([web, ...workers].map(({ log }) => log()).join('')).not.toContain('"fatal"')
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })

  test('web and worker still end on SIGTERM', { timeout: 200_000 }, async () => {
    await using site = await openSite()
    await site.sending()
    await site.cluster.freeze()
    site.answer()
    const codes = await Promise.all([site.web, ...site.workers].map((process) => process.stop()))
    expect(codes).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]) // not ended by a signal
    await site.cluster.thaw()
  })
})

async function openSite() {
  const cluster = await startCluster({ fsync: 'off', full_page_writes: 'off' })
  const w = await world({ database: await testDatabase({ server: cluster.server }) })
  const workers = [await w.worker({ timesFactor: 1 }), await w.worker({ timesFactor: 1 })]
  const web = await startWeb(w.site)
  const made = await anOrganisation(w.db)
  const key = await aKeyOfAllScopes(w.db, made)
  const status = (url: string) => fetch(url, { redirect: 'manual' }).then((response) => response.status)
  const answers: (() => void)[] = []
  return {
    ...{ cluster, w, web, workers },
    /** A delivery of each kind. The network has the posts and does not answer until `answer` is called. */
    async sending() {
      w.fake.behave = (_request, { show, reply }) => {
        const id = show()
        answers.push(() => reply(200, { id }))
      }
      const ids = await oneOfEach(w)
      await until(() => answers.length === Object.keys(ids).length)
      return ids
    },
    answer() {
      w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
      for (const answer of answers) answer()
    },
    /** What each health check, API call and page answers now. */
    async ask() {
      const [ready, api, page, live, ...ofWorkers] = await Promise.all([
        status(`${w.site.appUrl}/readyz`),
        callApi(w.site.appUrl, 'GET', '/posts', { key }).then((answer) => answer.status),
        status(`${w.site.appUrl}/oauth/authorize?client_id=x`),
        Promise.all([w.site.appUrl, ...workers.map(({ healthUrl }) => healthUrl)].map((url) => status(`${url}/livez`))),
        ...workers.map(({ healthUrl }) => status(`${healthUrl}/readyz`)),
      ])
      return { ready, api, page, workers: ofWorkers, live }
    },
    async [Symbol.asyncDispose]() {
      await cluster.thaw()
      await web.stop()
      await w.end()
      await cluster.end()
    },
  }
}
