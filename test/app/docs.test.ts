import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../server/routes.ts'
import { openWeb, type Web } from '../server/web.ts'

let w: Web
let pages: { reference: string; errors: string }
beforeAll(async () => {
  w = await openWeb()
  const read = async (path: string) => (await fetch(`${w.site.appUrl}${path}`)).text()
  pages = { reference: await read('/docs'), errors: await read('/docs/errors') }
})
afterAll(() => w.end())

test('the reference has each route with a call to copy, and needs neither an account nor a script', () => {
  for (const { method, path } of routes) {
    const shown = path.replaceAll(/:(\w+)/g, '{$1}')
    const call = `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${w.site.appUrl}/public/v1${shown} `
    expect(pages.reference).toContain(call)
  }
})

test('each code that a route can answer with is explained where its problem points to', async () => {
  const { json: document } = await w.call('GET', '/openapi.json', { key: '' })
  const codes = new Set(JSON.stringify(document).match(/(?<=docs\/errors#)\w+/g))
  expect(codes.size).toBeGreaterThan(20)
  for (const code of codes) expect(pages.errors).toContain(`id="${code}"`)
  const { json: problem } = await w.call('GET', '/nothing')
  expect(problem.type).toBe(`${w.site.appUrl}/docs/errors#not_found`)
})

test('nothing is loaded from elsewhere', () => {
  for (const page of Object.values(pages)) {
    const sources = [...page.matchAll(/(?:src|href)="(\w+:)?\/\/([^/"]+)/g)].map(([, , host]) => host)
    for (const host of sources) expect(host).toBe(new URL(w.site.appUrl).host)
  }
})
