import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserSite, browserSite, withChromium } from './app/browser.ts'

const run = promisify(execFile)
const hasChromium = withChromium()
let here: BrowserSite

beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())

test('a person signs up, connects a feed, makes a key, and an app’s post with that key goes out', async () => {
  const { appUrl } = here.site
  const page = await here.page({ permissions: ['clipboard-read', 'clipboard-write'] })

  await page.goto('/')
  await page.getByRole('link', { name: 'Create your account' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
  await page.getByLabel('E-mail').fill('ada@example.org')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByLabel('Organisation').fill('Analytical Engines')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Posts' }).waitFor()

  await page.getByRole('link', { name: 'Channels' }).click()
  await page.getByRole('button', { name: 'Connect Feed' }).click()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('Analytical Engines is connected.').waitFor()

  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('link', { name: 'Developers › Access' }).click()
  await page.getByRole('button', { name: 'Generate key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Website')
  await page.getByRole('button', { name: 'Generate', exact: true }).click()
  const key = (await page.locator('code', { hasText: /^pak_live_/ }).textContent()) ?? ''
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByText('Copied.').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key)

  const line = (await page.locator('pre', { hasText: 'curl' }).textContent()) ?? ''
  const { stdout } = await run('bash', ['-c', line])
  expect(JSON.parse(stdout)).toMatchObject({ organisation: { name: 'Analytical Engines' } })

  const headers = { authorization: key, 'content-type': 'application/json' }
  const channels = await fetch(`${appUrl}/public/v1/channels`, { headers }).then((answer) => answer.json())
  const channelId = channels.data[0].id
  const body = {
    type: 'schedule',
    date: new Date(Date.now() + 20_000).toISOString(),
    content: 'The engine weaves algebraical patterns.',
    channelIds: [channelId],
  }
  const made = await fetch(`${appUrl}/public/v1/posts`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(made.status).toBe(201)
  const post = await made.json()

  await page.goto('/')
  await page.getByRole('link', { name: body.content }).click()
  await page.getByRole('status').getByText('Scheduled').waitFor()
  await page.getByRole('status').getByText('Published').waitFor({ timeout: 60_000 })
  expect(page.url()).toBe(`${appUrl}/posts/${post.id}`)
  await page.getByRole('link', { name: 'View post' }).click()
  await page.getByRole('article').getByText(body.content).waitFor()

  const atom = await fetch(`${appUrl}/feeds/${channelId}/atom.xml`)
  expect(atom.headers.get('content-type')).toContain('application/atom+xml')
  expect(await atom.text()).toContain(body.content)
  const json = await fetch(`${appUrl}/feeds/${channelId}/feed.json`).then((answer) => answer.json())
  expect(json.items[0].content_text).toBe(body.content)
})
