import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../port.ts'
import { aCrowd, type Crowd, schedule } from './crowd.ts'
import type { Figure } from './figures.ts'
import type { Load, Loaded } from './load.ts'
import type { Settings } from './run.ts'
import { openSite, type Stage, start, startWeb } from './stage.ts'

const Connections = 16
const Scheduled = 10_000
const Day = 86_400_000

type Asked = Pick<Load, 'method' | 'path' | 'bodies'>

/** Part d: what the public API takes, beside a bare Express process that sends the same SQL. */
export async function requests(stage: Stage, { runs, loadMs, say }: Settings): Promise<Figure[]> {
  await using site = await openSite(stage)
  const crowd = await aCrowd(site)
  await schedule(site.db, crowd, { count: Scheduled, from: new Date(Date.now() + 30 * Day), spreadMs: 300 * Day })
  const port = String(await freePort())
  const origins = { web: site.appUrl, bare: `http://127.0.0.1:${port}` }
  const servers = [
    await startWeb(site),
    await start(site, ['test/bench/floors/bare.ts'], { PORT: port }, `${origins.bare}/readyz`),
  ]
  const figures: Figure[] = []
  try {
    for (const asked of whatIsAsked(crowd)) {
      const web: Loaded[] = []
      const bare: Loaded[] = []
      for (let run = 1; run <= runs; run++) {
        const load = {
          ...asked,
          connections: Connections,
          headers: headersOf(crowd),
          warmUpMs: loadMs / 2,
          forMs: loadMs,
        }
        bare.push(await loaded({ ...load, origin: origins.bare }))
        web.push(await loaded({ ...load, origin: origins.web }))
        say(
          `d ${run}: ${asked.method} ${asked.path} ${web.at(-1)?.perSecond.toFixed(0)}/s, bare ${bare.at(-1)?.perSecond.toFixed(0)}/s`,
        )
      }
      figures.push(...figuresOf(asked, web, bare))
    }
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()))
  }
  return figures
}

function whatIsAsked({ channelIds }: Crowd): Asked[] {
  const date = new Date(Date.now() + 60 * Day).toISOString()
  const post = (channelId: string) =>
    JSON.stringify({ type: 'schedule', date, content: 'One more post, as people write them.', channelIds: [channelId] })
  return [
    { method: 'POST', path: '/public/v1/posts', bodies: channelIds.map(post) },
    { method: 'GET', path: '/public/v1/posts?limit=50', bodies: [] },
    { method: 'GET', path: '/public/v1/channels', bodies: [] },
  ]
}

function headersOf({ key }: Crowd): Record<string, string> {
  return { authorization: key, 'content-type': 'application/json' }
}

async function loaded(load: Load): Promise<Loaded> {
  const script = join(import.meta.dirname, 'load.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(load)])
  return JSON.parse(stdout) as Loaded
}

function figuresOf({ method, path }: Asked, web: Loaded[], bare: Loaded[]): Figure[] {
  const name = `${method} ${path.replace('/public/v1', '')}`
  const beside = 'bare Express, same SQL'
  return [
    {
      ...{ part: 'd', name, unit: 'per s', runs: web.map(({ perSecond }) => perSecond) },
      beside: { name: beside, runs: bare.map(({ perSecond }) => perSecond) },
      goal: { of: 'ratio', atLeast: 0.6 },
    },
    {
      ...{ part: 'd', name: `${name}: p99 of ${Connections} at once`, unit: 'ms', runs: web.map(({ p99Ms }) => p99Ms) },
      beside: { name: beside, runs: bare.map(({ p99Ms }) => p99Ms) },
    },
  ]
}
