import { readFileSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWeb, type Web } from '../web.ts'

// KB of script that a browser loads for a page, compressed with brotli
const SignInAtMost = 80
const PageAtMost = 150

type Manifest = {
  url: string
  entry: { module: string; imports: string[] }
  routes: Record<string, { parentId?: string; module: string; imports?: string[] }>
}

let w: Web
let manifest: Manifest
beforeAll(async () => {
  w = await openWeb()
  const url = /\/build\/manifest-\w+\.js/.exec(await pageAt('/signup'))![0]
  manifest = { url, ...JSON.parse(readFileSync(`public${url}`, 'utf8').replace(/^window\.__remixManifest=|;$/g, '')) }
})
afterAll(() => w.end())

async function pageAt(path: string): Promise<string> {
  return (await fetch(w.site.appUrl + path)).text()
}

/** The scripts that a page loads, by its HTML. */
function scriptsIn(html: string): string[] {
  return [...new Set(html.match(/\/build\/[^"]+\.js/g))]
}

/** The scripts of a route, by the build's list. */
function scriptsOf(id: string): string[] {
  const modules = [manifest.url, manifest.entry.module, ...manifest.entry.imports]
  for (let route = manifest.routes[id]; route; route = manifest.routes[route.parentId ?? ''])
    modules.push(route.module, ...(route.imports ?? []))
  return [...new Set(modules)]
}

const weigh = (scripts: string[], ending = '.br') =>
  scripts.reduce((sum, script) => sum + statSync(`public${script}${ending}`).size, 0) / 1000

describe('the scripts', () => {
  test(`of each page are at most ${PageAtMost} KB`, () => {
    const weights = Object.keys(manifest.routes).map((id) => {
      const [plain, gzip, brotli] = ['', '.gz', '.br'].map((ending) => weigh(scriptsOf(id), ending).toFixed(1))
      return { id, plain, gzip, brotli }
    })
    for (const { id, plain, gzip, brotli } of weights)
      process.stdout.write(`${id.padEnd(42)} ${plain?.padStart(6)} KB, gzip ${gzip} KB, brotli ${brotli} KB\n`)
    expect(weights.length).toBeGreaterThan(30)
    expect(weights.filter(({ brotli }) => Number(brotli) > PageAtMost)).toEqual([])
  })

  test('that a page names are those that the build lists for it', async () => {
    expect(scriptsIn(await pageAt('/signup')).toSorted()).toEqual(scriptsOf('routes/signup').toSorted())
  })

  test(`of the sign-in page are at most ${SignInAtMost} KB`, async () => {
    for (const path of ['/login', '/login?next=%2Fchannels'])
      expect(weigh(scriptsIn(await pageAt(path)))).toBeLessThanOrEqual(SignInAtMost)
  })

  test('have no zod in them, which only the server needs', () => {
    const all = new Set(Object.keys(manifest.routes).flatMap(scriptsOf))
    expect([...all].filter((script) => readFileSync(`public${script}`, 'utf8').includes('ZodError'))).toEqual([])
  })
})
