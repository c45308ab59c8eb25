import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../server/rest/routes.ts'
import { aBrowser } from '../browser.ts'
import { costOf } from '../cost.ts'
import { openWeb, type Web } from '../web.ts'
import { type Hostile, hostile, type Target } from './hostile.ts'

// Everything that the web process answers, and what it costs it. To see a failure again: PROPERTY_SEED=… with the number
// that the run has printed. The goal is 50 ms; ten times that is asserted, since other tests use the machine as well.

const Seed = Number(process.env.PROPERTY_SEED ?? 20_260_901)
const RequestsPerTarget = Number(process.env.PROPERTY_RUNS ?? 25)
const ProcessorMs = 500

let w: Web
let cookie: string
const costs: [number, string, Hostile][] = []
beforeAll(async () => {
  process.stdout.write(`PROPERTY_SEED=${Seed}\n`)
  w = await openWeb({ AUTH_RATE_LIMIT: '0', OPERATORS: 'ada@example.org' })
  await w.channel()
  const browser = aBrowser(w.site.appUrl)
  const ada = { name: 'Ada', email: 'ada.lovelace@example.org', password: 'a good password', organisation: 'Works' }
  expect((await browser.post('/signup', ada)).status).toBe(302)
  cookie = browser.jar.cookie
})
afterAll(async () => {
  if (process.env.PROPERTY_COSTS)
    for (const [ms, name, { body = '', ...request }] of costs.sort(([a], [b]) => b - a).slice(0, 40))
      process.stdout.write(
        `${ms} ms ${name} ${JSON.stringify(request).slice(0, 200)} ${body.length}: ${body.slice(-150)}\n`,
      )
  await w.end()
})

const KiB = 1024
const examples: Record<string, Record<string, unknown>> = {
  '/login': { email: 'x@example.org', password: 'a good password' },
  '/signup': { name: 'x', email: 'x@example.org', password: 'a good password', organisation: 'x', timeZone: 'UTC' },
  '/posts/new': { intent: 'draft', content: 'x', channelIds: 'x', date: '2030-01-01', time: '10:00' },
  '/posts/:id': { intent: 'published', channelId: 'x', url: 'https://a.example/' },
  '/channels': { network: 'mastodon', 'input.instance': 'x' },
  '/settings/account': { intent: 'profile', name: 'x', email: 'ada.lovelace@example.org', timeZone: 'UTC' },
  '/settings/developers/access': { intent: 'generate', name: 'x', scopes: 'posts:read', expiresAt: '2030-01-01' },
  '/settings/developers/apps?index': { name: 'x', redirectUris: 'https://a.example/', website: 'https://a.example/' },
  '/settings/developers/webhooks?index': { url: 'https://a.example/', description: 'x', events: 'post.published' },
  '/oauth/authorize': { request: 'x', decision: 'approve', reach: 'some', channelIds: 'x', organisationId: 'x' },
}
const tokenExample = {
  grant_type: 'authorization_code',
  code: 'x',
  redirect_uri: 'https://a.example/',
  client_id: 'x',
  client_secret: 'x',
  token: 'x',
}

const api: Target[] = routes.map(({ method, path, body, example = {} }) => ({
  ...{ name: `${method} ${path}`, method: method.toUpperCase(), path: `/public/v1${path}` },
  ...(body ? { body: { kind: body === 'json' ? 'json' : 'form', bytes: 256 * KiB - 10, example } } : {}),
}))

type RemixRoute = { path?: string; index?: boolean; parentId?: string; module: { action?: unknown; loader?: unknown } }
const build = (await import(pathToFileURL(resolve(import.meta.dirname, '../../../build/remix/index.js')).href)) as {
  routes: Record<string, RemixRoute>
}

function addressOf({ path = '', parentId }: RemixRoute): string {
  const parent = parentId && build.routes[parentId]
  return `${parent ? addressOf(parent) : ''}/${path}`
    .replaceAll(/\/+/g, '/')
    .replace(/(.)\/$/, '$1')
    .replace('*', 'nothing')
}

const pages: Target[] = Object.values(build.routes).flatMap((route) => {
  const path = addressOf(route)
  const at = route.index && path !== '/' ? `${path}?index` : path
  const bytes = path.startsWith('/posts') ? 1280 * KiB - 10 : 64 * KiB - 10
  const form: Target = {
    name: `POST ${at}`,
    method: 'POST',
    path: at,
    body: { kind: 'form', bytes, example: examples[at] ?? examples[path] ?? { intent: 'x', id: 'x' } },
  }
  return [{ name: `GET ${at}`, method: 'GET', path: at }, ...(route.module.action ? [form] : [])]
})

const others: Target[] = [
  ...['token', 'revoke', 'introspect'].map(
    (name): Target => ({
      ...{ name: `POST /oauth/${name}`, method: 'POST', path: `/oauth/${name}` },
      body: { kind: 'oauth', bytes: 16 * KiB - 10, example: tokenExample },
    }),
  ),
  { name: 'POST /media', method: 'POST', path: '/media', body: { kind: 'form', bytes: 256 * KiB, example: {} } },
  ...[
    '/files/:key',
    '/files/00000000000000000000000000000000.jpg',
    '/livez',
    '/readyz',
    '/favicon.svg',
    '/build/:name',
    '/:nothing',
    '/public/:nothing',
    '/.well-known/oauth-authorization-server',
  ].map((path): Target => ({ name: `GET ${path}`, method: 'GET', path })),
]

const targets = [...api, ...pages, ...others].map((target, i) => ({ ...target, seed: Seed + i })) // not the same for all

test.each(targets)('$name: what is made to cost much costs little, with a credential and without', async (target) => {
  await fc.assert(
    fc.asyncProperty(hostile(target), fc.boolean(), async (request, isKnown) => {
      const [costMs, [status, live]] = await costOf(w.web, () =>
        Promise.all([send(request, isKnown && target.path !== '/logout'), alive()]),
      )
      costs.push([costMs, target.name, request])
      expect([status < 500 || status, live]).toEqual([true, 200])
      expect(costMs).toBeLessThan(ProcessorMs)
    }),
    { seed: target.seed, numRuns: RequestsPerTarget, endOnFailure: true, verbose: 0, reporter: shortly },
  )
})

async function send({ method, path, headers, body }: Hostile, isKnown: boolean): Promise<number> {
  const credential = !isKnown ? {} : path.startsWith('/public') ? { authorization: w.key } : { cookie }
  const response = await fetch(`${w.site.appUrl}${path}`, {
    ...{ method, redirect: 'manual', headers: { origin: w.site.appUrl, ...credential, ...headers } },
    ...(body === undefined ? {} : { body }),
  })
  await response.arrayBuffer()
  return response.status
}

async function alive(): Promise<number> {
  return (await fetch(`${w.site.appUrl}/livez`, { signal: AbortSignal.timeout(10_000) })).status
}

// A request is up to 1.25 MB long: its ends tell what it was.
function shortly(run: fc.RunDetails<[Hostile, boolean]>): void {
  if (!run.failed) return
  const [{ body = '', ...request }, isKnown] = run.counterexample!
  const said = `${JSON.stringify(request).slice(0, 2000)} ${isKnown ? 'with' : 'without'} a credential, ${body.length} bytes: ${body.slice(0, 300)}…${body.slice(-300)}`
  throw new Error(`${(run.errorInstance as Error)?.message}\n${said}\nPROPERTY_SEED=${Seed}`)
}
