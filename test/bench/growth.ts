import { sql } from 'drizzle-orm'
import { Pool } from 'undici'
import { claimHeads } from '../../jobs/ledger/claim.ts'
import { times } from '../../jobs/timeouts-and-delays.ts'
import { aCrowd, type Crowd, schedule } from './crowd.ts'
import { type Figure, quantile } from './figures.ts'
import type { Settings } from './run.ts'
import { openSite, type Site, type Stage, startWeb } from './stage.ts'

const Day = 86_400_000
const Requests = 400

/** An installation with so many posts scheduled, and what was measured there: milliseconds, of each run. */
type Grown = { size: number; site: Site; crowd: Crowd; api: Pool; posts: number[][]; claims: number[][] }

/** Part c: how long `POST /posts` and a claim take, one at a time, the more posts are scheduled. */
export async function growth(stage: Stage, { runs, sizes, say }: Settings): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const all: Grown[] = []
  for (const size of sizes) {
    all.push(await grow(stage, stack, size))
    say(`c: ${size} are scheduled`)
  }
  await measure(all)
  for (const { posts, claims } of all) [posts, claims].forEach((each) => void each.pop()) // nothing was warm yet
  for (let run = 1; run <= runs; run++) {
    await measure(all)
    for (const { size, posts, claims } of all) {
      const [post, claim] = [posts, claims].map((each) => quantile(each.at(-1)!, 0.5).toFixed(2))
      say(`c ${run}: with ${size} POST /posts ${post} ms, claim ${claim} ms`)
    }
  }
  return figuresOf(all)
}

async function grow(stage: Stage, stack: AsyncDisposableStack, size: number): Promise<Grown> {
  const site = stack.use(await openSite(stage))
  const crowd = await aCrowd(site)
  const web = await startWeb(site)
  stack.defer(web.stop)
  const api = new Pool(site.appUrl, { connections: 1 })
  stack.defer(() => api.close())
  const far = new Date(Date.now() + 30 * Day)
  await schedule(site.db, crowd, { count: size, from: far, spreadMs: 300 * Day, atRandom: true })
  return { size, site, crowd, api, posts: [], claims: [] }
}

// One here, one there: what else the machine does meanwhile falls on each alike.
async function measure(all: Grown[]): Promise<void> {
  for (const { posts, claims } of all) {
    posts.push([])
    claims.push([])
  }
  for (let i = 0; i < Requests; i++)
    for (const grown of all) grown.posts.at(-1)!.push(await timed(() => post(grown, i)))
  for (const { site, crowd } of all) {
    const due = { count: Requests, from: new Date(Date.now() - 1000), spreadMs: 0, withJobs: false }
    await schedule(site.db, crowd, due)
  }
  for (let i = 0; i < Requests; i++)
    for (const { site, claims } of all) {
      const [head] = await site.db.execute<{ channelId: string }>(
        sql`select channel_id as "channelId" from deliveries where state = 'scheduled' and ready_at < now() limit 1`,
      )
      claims.at(-1)!.push(await timed(() => claim(site, head!.channelId)))
      await putAway(site)
    }
}

async function timed(does: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await does()
  return performance.now() - begun
}

async function post({ api, crowd: { key, channelIds } }: Grown, i: number): Promise<void> {
  const headers = { authorization: key, 'content-type': 'application/json' }
  const date = new Date(Date.now() + 60 * Day).toISOString()
  const wanted = { type: 'schedule', date, content: 'One more.', channelIds: [channelIds[i % channelIds.length]] }
  const { statusCode, body } = await api.request({
    ...{ path: '/public/v1/posts', method: 'POST', headers, body: JSON.stringify(wanted) },
  })
  const answer = await body.text()
  if (statusCode !== 201) throw new Error(`POST /posts answered ${statusCode}: ${answer}`)
}

async function claim({ db }: Site, channelId: string): Promise<void> {
  const claims = await claimHeads(db, times, 'bench', [channelId])
  if (typeof claims.get(channelId) !== 'object') throw new Error(`A claim found ${claims.get(channelId)}.`)
}

async function putAway({ db }: Site): Promise<void> {
  await db.execute(sql`
    update deliveries set state = 'published', published_at = now(), evidence = 'answered',
      lease_token = null, lease_owner = null, lease_until = null
    where state = 'claimed'`)
}

function figuresOf(all: Grown[]): Figure[] {
  const [first, last] = [all[0]!, all.at(-1)!]
  const figuresFor = (kind: 'posts' | 'claims', q: number) =>
    all.map((grown): Figure => {
      const runsOf = (one: Grown) => one[kind].map((tookMs) => quantile(tookMs, q))
      const sizeOf = ({ size }: Grown) => size.toLocaleString('en')
      const what = `${kind === 'posts' ? 'POST /posts' : 'a claim'} with ${sizeOf(grown)} scheduled`
      const name = `${what}: ${q === 0.5 ? 'median' : `p${q * 100}`}`
      const figure = { part: 'c', name, unit: 'ms', runs: runsOf(grown) }
      if (grown === first) return figure
      const beside = { name: `with ${sizeOf(first)}`, runs: runsOf(first) }
      return { ...figure, beside, ...(grown === last ? { goal: { of: 'ratio', atMost: 1.3 } } : {}) }
    })
  return (['posts', 'claims'] as const).flatMap((kind) => [0.5, 0.99].flatMap((q) => figuresFor(kind, q)))
}
