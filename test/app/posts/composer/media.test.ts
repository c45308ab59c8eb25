import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { aPhoto } from '../../../builders.ts'
import { listening } from '../../../jobs/outbound/loopback.ts'
import { until } from '../../../processes.ts'
import { type BrowserSite, chromiumPath, inBrowser } from '../../browser.ts'
import { aMember } from '../../member.ts'
import { give, largePhoto, picked, slowUploads } from './files.ts'

let here: BrowserSite
let page: Page
let channelId: string
let cookies: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>['cookies']
let photo: Buffer<ArrayBuffer>
inBrowser(
  async (site) => {
    here = site
    photo = await aPhoto({ width: 40, height: 30 })
    const member = await aMember(here)
    channelId = member.channelIds[0]!
    cookies = (await member.page.context().storageState()).cookies
  },
  async () => {
    page = await here.page({ storageState: { cookies, origins: [] } }) // no text of the test before
    await page.goto('/posts/new')
    onTestFinished(() => page.context().close())
  },
)

const image = (name: string, buffer = photo) => picked(name, buffer)
const images = () => page.getByRole('group', { name: /^Image \d/ })
const link = () => page.getByLabel('Link to an image or video')
const temporaryFiles = () => readdir(join(here.site.dataDir, 'files/temporary')).catch(() => [])
const storedFiles = async () => (await here.db.execute<{ n: number }>(sql`select count(*)::int as n from media`))[0]!.n

async function expectClean(): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
}

describe('files are added', () => {
  test('by dropping them anywhere on the page, which shows where they go', async () => {
    const note = page.getByText('Drop files here to add them')
    expect(await note.isVisible()).toBe(false)
    await expect
      .poll(async () => {
        await give('dragover', page.locator('main'), photo) // the first may come before the page is interactive
        return note.isVisible()
      })
      .toBe(true)
    await give('drop', page.locator('main'), photo)
    await page.getByRole('group', { name: 'Image 1' }).waitFor()
    expect(await note.isVisible()).toBe(false)
  })

  test('by pasting them into any field, but not the picture that an office program sends with its text', async () => {
    const office = { 'text/plain': 'A1', 'text/html': '<b>A1</b>' }
    await give('paste', page.getByLabel('Text', { exact: true }), photo, office)
    await give('paste', page.getByLabel('Text', { exact: true }), photo)
    await give('paste', page.getByLabel('Date', { exact: true }), photo)
    await page.getByRole('group', { name: 'Image 2' }).waitFor()
    expect(await images().count()).toBe(2)
  })

  test('from a link, with the error of a wrong link beside the field, whose text stays', async () => {
    const { origin } = await listening(createServer((_req, res) => void res.end(photo)))
    await page.getByRole('button', { name: 'Add from a link' }).click()
    for (const [typed, sentence] of [
      ['', 'Enter a link that starts with https://.'],
      ['nothing', /URL/],
      ['http://192.0.2.1:1/a.png', /address/],
    ] as const) {
      await link().fill(typed)
      await link().press('Enter')
      await page.locator('#media-link-problems').getByText(sentence).waitFor()
      expect(await link().getAttribute('aria-invalid')).toBe('true')
      expect(
        await link().evaluate((field: HTMLInputElement) => [field.value, field === document.activeElement]),
      ).toEqual([typed, true])
    }

    await link().fill(`${origin}/a.png`)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('group', { name: 'Image 1' }).waitFor()
    await expect.poll(() => link().inputValue()).toBe('')
    expect(await page.locator('#media-link-problems').count()).toBe(0)
  })

  test('for the organisation of the page only, after another tab has switched', async () => {
    const before = await storedFiles()
    await page.route('**/media', (route) =>
      route.continue({
        headers: { ...route.request().headers(), 'for-organisation': '01890000-0000-7000-8000-000000000000' },
      }),
    )
    await page.getByLabel('Add media').setInputFiles(image('a.png'))
    await page.getByText('a.png: You switched to another organisation in another tab.').waitFor()
    expect(await storedFiles()).toBe(before)
  })
})

describe('an upload', () => {
  test('shows its progress, asks before the page is left, and keeps nothing when it is cancelled', async () => {
    const before = await storedFiles()
    const restore = await slowUploads(page, 20_000)
    await page.getByLabel('Add media').setInputFiles([image('slow.png', await largePhoto()), image('next.png')])
    const row = page.getByRole('listitem').filter({ hasText: 'slow.png' })
    await row.getByText(/^[1-9]\d? %$/).waitFor()
    await until(async () => (await temporaryFiles()).length === 1)
    await page.getByRole('status').getByText('Uploading 2 files…').waitFor()
    await expectClean()

    const asked: string[] = []
    page.on('dialog', (dialog) => asked.push(`${dialog.type()} ${dialog.message()}`) && void dialog.dismiss())
    await page.getByRole('link', { name: 'Channels', exact: true }).click()
    await expect.poll(() => asked).toEqual([expect.stringContaining('confirm A file is still uploading.')])
    await page.close({ runBeforeUnload: true })
    await expect.poll(() => asked).toHaveLength(2)
    expect(asked[1]).toMatch(/^beforeunload/)
    expect(new URL(page.url()).pathname).toBe('/posts/new')

    await page.getByRole('button', { name: 'Cancel upload: slow.png' }).click()
    await restore()
    await page.getByRole('group', { name: 'Image 1' }).waitFor() // next.png
    expect(await images().count()).toBe(1)
    await until(async () => (await temporaryFiles()).length === 0)
    expect(await storedFiles()).toBe(before + 1)
    await page.getByRole('link', { name: 'Channels', exact: true }).click()
    await page.waitForURL('**/channels')
    expect(asked).toHaveLength(2)
  })

  test('from a link keeps nothing when it is cancelled', async () => {
    const before = await storedFiles()
    let isGone = false
    const { origin } = await listening(
      createServer((_req, res) => {
        res.write(photo.subarray(0, 50))
        res.on('close', () => {
          isGone = true
        })
      }),
    )
    await page.getByRole('button', { name: 'Add from a link' }).click()
    await link().fill(`${origin}/slow.png`)
    await link().press('Enter')
    await until(async () => (await temporaryFiles()).length === 1)
    await page.getByRole('button', { name: 'Cancel upload' }).click()
    await until(() => isGone)
    await until(async () => (await temporaryFiles()).length === 0)
    expect(await storedFiles()).toBe(before)
    await expect.poll(() => link().inputValue()).toBe(`${origin}/slow.png`)
  })

  test('that fails says why, and is tried again or removed', async () => {
    await page.route('**/media', (route) => route.abort(), { times: 2 })
    await page.getByLabel('Add media').setInputFiles([image('one.png'), image('two.png')])
    await page.getByText('one.png: Upload failed. Try again.').waitFor()
    await page.getByText('two.png: Upload failed. Try again.').waitFor()
    await page.getByRole('status').getByText('2 files were not uploaded.').waitFor()
    await expectClean()

    await page.getByRole('button', { name: 'Remove: two.png' }).click()
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).type)).toBe('file')
    await page.getByRole('button', { name: 'Try again: one.png' }).click()
    await page.getByRole('group', { name: 'Image 1' }).waitFor()
    expect(await page.getByText('Upload failed').count()).toBe(0)
  })
})

describe('the files of a post', () => {
  beforeEach(async ({ skip }) => {
    skip(!chromiumPath)
    const files = await Promise.all([40, 50, 60].map((width) => aPhoto({ width, height: 30 })))
    await page.getByLabel('Add media').setInputFiles(files.map((buffer, index) => image(`${index}.png`, buffer)))
    await page.getByRole('group', { name: 'Image 3' }).waitFor()
    for (const [index, alt] of ['First', 'Second', 'Third'].entries()) await altOf(index).fill(alt)
  })

  const altOf = (index: number) => images().nth(index).getByLabel('Alt text')
  const alts = () => Promise.all([0, 1, 2].map((index) => altOf(index).inputValue()))

  test('move by their buttons, which say where a file is now and keep the focus', async () => {
    const later = page.getByRole('button', { name: 'Move down: Image 1' })
    await later.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Moved to place 2 of 3.').waitFor()
    expect(await alts()).toEqual(['Second', 'First', 'Third'])
    await page.keyboard.press('Enter') // on the same button, of the same file
    await page.getByRole('status').getByText('Moved to place 3 of 3.').waitFor()
    expect(await alts()).toEqual(['Second', 'Third', 'First'])
    await page.getByRole('button', { name: 'Move down: Image 3', disabled: true }).press('Enter')
    expect(await alts()).toEqual(['Second', 'Third', 'First'])
    await page.getByRole('button', { name: 'Move up: Image 2' }).click()
    expect(await alts()).toEqual(['Third', 'Second', 'First'])
    await expectClean()
  })

  test('move by dragging, and go out in that order', async () => {
    const handle = await images().nth(0).locator('[data-handle]').boundingBox()
    const target = await images().nth(2).boundingBox()
    await page.mouse.move(handle!.x + 5, handle!.y + 20)
    await page.mouse.down()
    await page.mouse.move(handle!.x + 5, target!.y + target!.height - 5, { steps: 5 })
    await page.mouse.up()
    expect(await alts()).toEqual(['Second', 'Third', 'First'])

    await page.getByLabel('My feed').check()
    await page.getByLabel('Text', { exact: true }).fill('Three pictures')
    await page.getByRole('button', { name: 'Publish now' }).click()
    await page.getByRole('status').getByText('Published').waitFor()
    await page.goto(`/feeds/${channelId}`)
    const shown = page.locator('img[alt]:not([alt=""])')
    await expect
      .poll(() => shown.evaluateAll((all) => all.map((one) => one.getAttribute('alt'))))
      .toEqual(['Second', 'Third', 'First'])
  })

  test('ask for their alt texts, and count them as the channel that accepts least', async () => {
    await here.db.execute(
      sql`update channels set limits = jsonb_set(limits, '{altLength}', '10') where id = ${channelId}`,
    )
    await page.goto('/posts/new') // with the new limits
    const alt = altOf(0)
    await alt.fill('')
    await page.getByText("1 file has no alt text. Describe it for people who can't see it.").waitFor()
    expect(await alt.getAttribute('placeholder')).toBe('Describe this image')
    await alt.fill('A teal 🌊')
    await page.getByText('8 of 10').waitFor()
    expect(await page.getByText('no alt text').count()).toBe(0)
    await alt.fill('A teal square')
    await page.getByText('3 characters too long for My feed').waitFor()
    expect(await alt.getAttribute('aria-invalid')).toBe('true')
  })
})
