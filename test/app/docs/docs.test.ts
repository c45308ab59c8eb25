import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../server/rest/routes.ts'
import { openWeb, type Web } from '../../server/web.ts'
import { browserSite, withChromium } from '../browser.ts'
import { documentationPaths, samplesOf, textOf } from './documentation.ts'

const hasChromium = withChromium()

let w: Web
let pages: Record<string, string>
beforeAll(async () => {
  w = await openWeb()
  const read = async (path: string) => {
    const answer = await fetch(`${w.site.appUrl}${path}`)
    return [path, answer.ok ? await answer.text() : `${answer.status}`] as const
  }
  pages = Object.fromEntries(await Promise.all(documentationPaths.map(read)))
})
afterAll(() => w.end())

test('the reference has each route with a call to copy, and needs neither an account nor a script', () => {
  for (const { method, path } of routes) {
    const shown = path.replaceAll(/:(\w+)/g, '{$1}')
    const call = `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${w.site.appUrl}/public/v1${shown} `
    expect(pages[`/docs/reference/${path.split('/')[1]}`]).toContain(call)
    expect(pages['/docs/reference']).toContain(shown)
  }
})

test('each code that a route can answer with is explained where its problem points to', async () => {
  const { json: document } = await w.call('GET', '/openapi.json', { key: '' })
  const codes = new Set(JSON.stringify(document).match(/(?<=docs\/errors#)\w+/g))
  expect(codes.size).toBeGreaterThan(20)
  for (const code of codes) expect(pages['/docs/errors']).toContain(`id="${code}"`)
  const { json: problem } = await w.call('GET', '/nothing')
  expect(problem.type).toBe(`${w.site.appUrl}/docs/errors#not_found`)
})

test('nothing is loaded from elsewhere', () => {
  for (const page of Object.values(pages)) {
    const sources = [...page.matchAll(/src="(?:\w+:)?\/\/([^/"]+)|<link[^>]*href="(?:\w+:)?\/\/([^/"]+)/g)]
    for (const [, source, sheet] of sources) expect(source ?? sheet).toBe(new URL(w.site.appUrl).host)
  }
})

test('every page is reached from the navigation, which marks it alone', () => {
  const [all] = [...pages['/docs']!.matchAll(/<nav aria-label="Documentation">(.*?)<\/nav>/gs)].map(([, nav]) => nav!)
  const linked = [...all!.matchAll(/href="([^"]+)"/g)].map(([, path]) => path!)
  expect(linked.length).toBeGreaterThanOrEqual(10)
  for (const path of linked) {
    const marked = [...pages[path]!.matchAll(/<a [^>]*aria-current="page"[^>]*>/g)].map(([tag]) => tag)
    expect([path, ...marked.map((tag) => /href="([^"]+)"/.exec(tag)![1])]).toEqual([path, path])
  }
  expect(pages['/docs/reference/posts']).toMatch(/aria-current="page"[^>]*href="\/docs\/reference"/)
  expect(documentationPaths).toEqual(expect.arrayContaining(linked))
})

test('a page has the same name in the navigation and in its heading', () => {
  const [all] = /<nav aria-label="Documentation">.*?<\/nav>/s.exec(pages['/docs']!)!
  const links = [...all.matchAll(/<a [^>]*href="([^"]+)"[^>]*>(.*?)<\/a>/gs)]
  const headings = links.map(([, path]) => textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(pages[path!]!)![1]!))
  expect(headings).toEqual(links.map(([, , name]) => textOf(name!)))
})

test('each copy button of a page has its own name, which says what it copies', () => {
  for (const [path, page] of Object.entries(pages)) {
    const buttons = [...page.matchAll(/<button[^>]*aria-label="(Copy [^"]+)"/g)].map(([, name]) => name)
    expect([path, buttons.length]).toEqual([path, samplesOf(page).length])
    expect([path, ...new Set(buttons)]).toEqual([path, ...buttons])
  }
})

test('each link from one page of the documentation to another leads to its place there', () => {
  for (const [path, page] of Object.entries(pages)) {
    const links = [...page.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href]) => new URL(href!, w.site.appUrl + path))
    const own = links.filter(({ origin, pathname }) => origin === w.site.appUrl && /^\/docs(\/|$)/.test(pathname))
    for (const { pathname, hash } of own) {
      expect(`${path}: ${pathname} ${pages[pathname]?.slice(0, 15)}`).toBe(`${path}: ${pathname} <!DOCTYPE html>`)
      if (hash) expect(pages[pathname], `${path}: ${pathname}${hash}`).toContain(`id="${hash.slice(1)}"`)
    }
  }
})

test('the guide to OAuth says what docs/oauth.md says, with the addresses of this site', async () => {
  const source = await readFile(`${import.meta.dirname}/../../../docs/oauth.md`, 'utf8')
  const filled = source.replaceAll('{app_url}', w.site.appUrl).replaceAll('{base_url}', w.site.appUrl)
  const fence = /```\w*\n([\s\S]*?)\n```/g
  const samples = [...filled.matchAll(fence)].map(([, sample]) => sample)
  expect(samples.length).toBeGreaterThan(4)
  expect(samplesOf(pages['/docs/oauth']!)).toEqual(samples)
  const words = (text: string) => text.replaceAll(/[`*|#]|\[([^\]]+)\]\([^)]+\)/g, ' $1 ').match(/[\p{L}\d]+/gu)
  const text = words(textOf(pages['/docs/oauth']!))!.join(' ')
  const lines = filled.replaceAll(fence, '').split('\n')
  for (const line of lines) expect(text).toContain(words(line.replace(/^\d+\. |^[|-]+$/, ''))?.join(' ') ?? '')
})

test('no page of the documentation shows a placeholder instead of an address, and none is as long as a book', () => {
  for (const [path, page] of Object.entries(pages)) {
    expect(`${path} ${page.match(/\{(app|base)_url\}/)?.[0]}`).toBe(`${path} undefined`)
    expect(`${path} ${page.length < 150_000}`).toBe(`${path} true`)
  }
})

test('a page that is not there is 404', async () => {
  for (const path of ['/docs/nothing', '/docs/constructor', '/docs/reference/nothing'])
    expect((await fetch(`${w.site.appUrl}${path}`)).status).toBe(404)
})

test('the address that people guess for the quickstart leads to it', async () => {
  const answer = await fetch(`${w.site.appUrl}/docs/quickstart`)
  expect([answer.status, answer.url]).toEqual([200, `${w.site.appUrl}/docs`])
})

test('the address in a problem leads to its code, also once the page runs', async () => {
  if (!hasChromium) return
  await using here = await withBrowser()
  const page = await here.page()
  await page.goto('/docs/errors#stale_version', { waitUntil: 'networkidle' })
  const topOf = () => page.locator('#stale_version').evaluate((one) => Math.round(one.getBoundingClientRect().top))
  expect(Math.abs(await topOf())).toBeLessThan(200)
  await page.setViewportSize({ width: 390, height: 800 })
  await page.goto('/docs/errors', { waitUntil: 'networkidle' })
  const current = page.locator('nav [aria-current]').filter({ visible: true }).last()
  await expect.poll(() => current.evaluate((one) => one.getBoundingClientRect().right)).toBeLessThanOrEqual(390)
})

test('an address of the reference from before leads there, and a sample is copied whole', async () => {
  if (!hasChromium) return
  await using here = await withBrowser()
  const page = await here.page({ permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto('/docs#schema-Post')
  await page.waitForURL('**/docs/reference#schema-Post')
  await page.locator('#schema-Post').getByRole('link').click()
  await page.waitForURL('**/docs/reference/schemas#schema-Post')
  await page.goto('/docs#createPost-of-nothing')
  await page.waitForURL('**/docs/reference#createPost-of-nothing')

  await page.getByRole('link', { name: 'OAuth apps' }).click()
  await page.getByRole('heading', { level: 1, name: 'OAuth apps' }).waitFor()
  await page.getByRole('button', { name: 'Copy' }).last().click()
  await page.getByText('Copied.').waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(`${copied}\n`).toBe(await readFile(`${import.meta.dirname}/../../server/oauth/clients/example-app.ts`, 'utf8'))
})

async function withBrowser() {
  const here = await browserSite()
  return { ...here, [Symbol.asyncDispose]: () => here.end() }
}
