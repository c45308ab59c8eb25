import { Pool } from 'undici'
import { quantile } from './figures.ts'

/** What to ask, over and over: one request after another on each connection. `bodies` take turns. */
export type Load = {
  origin: string
  path: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  bodies: string[]
  connections: number
  warmUpMs: number
  forMs: number
}

export type Loaded = { perSecond: number; p50Ms: number; p99Ms: number }

// A process of its own: `load.ts JSON-of-Load` prints a Loaded as JSON. Anything but 2xx ends it.
if (import.meta.main) process.stdout.write(JSON.stringify(await load(JSON.parse(process.argv[2]!) as Load)))

async function load({ origin, connections, warmUpMs, forMs, ...request }: Load): Promise<Loaded> {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  await ask(pool, connections, warmUpMs, request)
  const tookMs = await ask(pool, connections, forMs, request)
  await pool.close()
  const perSecond = (tookMs.length / forMs) * 1000
  return { perSecond, p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99) }
}

type Request = Pick<Load, 'path' | 'method' | 'headers' | 'bodies'>

async function ask(pool: Pool, connections: number, forMs: number, request: Request): Promise<number[]> {
  const { bodies, ...rest } = request
  const end = performance.now() + forMs
  const tookMs: number[] = []
  let asked = 0
  const connection = async () => {
    for (let begun = performance.now(); begun < end; begun = performance.now()) {
      const { statusCode, body } = await pool.request({ ...rest, body: bodies[asked++ % bodies.length] ?? null })
      const answer = await body.text()
      if (statusCode >= 300) throw new Error(`${request.method} ${request.path} answered ${statusCode}: ${answer}`)
      tookMs.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  return tookMs
}
