import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import type { Media } from '../../../../server/media/media.ts'
import { aPhoto } from '../../../builders.ts'
import { type BrowserSite, inBrowser } from '../../browser.ts'
import { aBrowserToKill, aMember, type Member, savedIn, settled, textOf } from '../../member.ts'
import { give, largePhoto, picked, slowUploads } from './files.ts'
import { withSettings } from './unknown-parts.ts'

let here: BrowserSite
let member: Member
let page: Page
let photo: Buffer<ArrayBuffer>
let first: string
let second: string
inBrowser(
  async (site) => {
    here = site
    photo = await aPhoto({ width: 40, height: 30 })
  },
  async () => {
    member = await aMember(here, { feeds: ['First feed', 'Second feed'] })
    page = member.page
    ;[first, second] = member.channelIds as [string, string]
  },
)

const aPost = (parts: object) => member.makePost({ channelIds: [first, second], ...parts })
const group = (where = page) => where.getByRole('group', { name: 'Media for Second feed' })
const add = (where = page) => group(where).getByLabel('Add for this channel only')
const alt = (where = page) => group(where).getByLabel('Alt text')

/** A new post for both channels, of which the second begins with no media of its own. */
async function begin(): Promise<void> {
  await page.goto('/posts/new')
  await textOf(page).fill('For all')
  for (const name of ['First feed', 'Second feed']) await page.getByRole('checkbox', { name }).check()
  await page.getByRole('button', { name: 'Choose media for this channel' }).last().click()
}

async function expectClean(): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
}

test('media that the API gave to one channel are shown, and can be chosen again or taken away', async () => {
  const [shared, own] = [await member.uploadPhoto('A shared one'), await member.uploadPhoto('Its own one')]
  const id = await aPost({ mediaIds: [shared], overrides: [{ channelId: second, mediaIds: [own] }] })
  await page.goto(`/posts/${id}`)
  await expect.poll(() => group().getByRole('checkbox', { name: 'Its own one' }).isChecked()).toBe(true)
  await expect.poll(() => group().getByRole('checkbox', { name: 'A shared one' }).isChecked()).toBe(false)

  await group().getByRole('checkbox', { name: 'A shared one' }).check()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  expect((await member.readPost(id)).overrides).toEqual([{ channelId: second, mediaIds: [own, shared] }])

  await page.getByRole('button', { name: 'Use the shared media' }).click()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await expect.poll(async () => (await member.readPost(id)).overrides).toEqual([])
})

test('a file is uploaded for one channel only, with its alt text, into a post that has no files', async () => {
  await begin()
  await group().getByText('This channel gets no media.').waitFor()
  expect(await add().evaluate((input) => input === document.activeElement)).toBe(true)
  await add().setInputFiles(picked('a.png', photo))
  await group().getByText("1 file has no alt text. Describe it for people who can't see it.").waitFor()
  await alt().fill('Only for the second')
  expect(await group().getByText('no alt text').count()).toBe(0)
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('The post is scheduled.').waitFor()

  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const { mediaIds, overrides } = await member.readPost(id)
  expect(mediaIds).toEqual([])
  expect(overrides).toEqual([{ channelId: second, mediaIds: [expect.any(String)] }])
  const file = await member.callApi<Media>('GET', `/media/${overrides[0]!.mediaIds![0]}`)
  expect(file.alt).toBe('Only for the second')

  await alt().fill('Described again')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  expect((await member.callApi<Media>('GET', `/media/${file.id}`)).alt).toBe('Described again')
})

test('files that are dropped or pasted on the media of a channel are only for it, and others are for all', async () => {
  await begin()
  await give('dragover', group(), photo)
  await page.getByText('Drop files here for Second feed only').waitFor()
  await page.getByText('Drop files here to add them').waitFor()
  await expectClean()
  await give('drop', group().locator('legend'), photo)
  await group().getByRole('group', { name: 'Image 1' }).waitFor()
  expect(await page.getByText('Drop files here').first().isVisible()).toBe(false)
  await give('paste', alt(), photo)
  await group().getByRole('group', { name: 'Image 2' }).waitFor()
  expect(await page.getByRole('button', { name: /^Remove image/ }).count()).toBe(0) // of the post

  await give('paste', textOf(page), photo)
  await page.getByRole('button', { name: 'Remove image 1' }).waitFor()
  expect(
    await group()
      .getByRole('checkbox')
      .evaluateAll((all) => all.map((one) => one.matches(':checked'))),
  ).toEqual([
    false, // the one of the post
    true,
    true,
  ])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await settled(page)
    await expectClean()
  }
})

test('an upload for one channel shows its progress there, is waited for, cancelled, and tried again', async () => {
  await begin()
  const restore = await slowUploads(page, 20_000)
  await add().setInputFiles(picked('slow.png', await largePhoto()))
  await group()
    .getByText(/^[1-9]\d? %$/)
    .waitFor()
  await page.getByText('Files are still uploading.').waitFor()
  expect(await page.getByRole('list', { name: 'Uploads' }).count()).toBe(1)
  await expectClean()
  await group().getByRole('button', { name: 'Cancel upload: slow.png' }).click()
  await restore()
  expect(await group().getByRole('progressbar').count()).toBe(0)
  expect(await add().evaluate((input) => input === document.activeElement)).toBe(true)

  await page.route('**/media', (route) => route.abort(), { times: 1 })
  await add().setInputFiles(picked('one.png', photo))
  await group().getByText('one.png: Upload failed. Try again.').waitFor()
  await expectClean()
  await group().getByRole('button', { name: 'Try again: one.png' }).click()
  await group().getByRole('checkbox', { name: 'Image 1' }).waitFor()
  expect(await group().getByText('Upload failed').count()).toBe(0)
})

test('Use the shared media stops the uploads that are only for that channel', async () => {
  await begin()
  const stop = Promise.withResolvers<void>()
  await page.route('**/media', (route) => stop.promise.then(() => route.abort()))
  await add().setInputFiles(picked('a.png', photo))
  await page.getByText('Files are still uploading.').waitFor()
  await page.getByRole('button', { name: 'Use the shared media' }).click()

  await expect.poll(() => page.getByText('Files are still uploading.').count()).toBe(0)
  expect(await group().count()).toBe(0)
  stop.resolve()
})

test('the post waits for no upload of a deselected channel, which can be seen and cancelled', async () => {
  await begin()
  const stop = Promise.withResolvers<void>()
  await page.route('**/media', (route) => stop.promise.then(() => route.abort()))
  await add().setInputFiles(picked('a.png', photo))
  await page.getByText('Files are still uploading.').waitFor()
  await page.getByRole('checkbox', { name: 'Second feed' }).uncheck()

  await expect.poll(() => page.getByText('Files are still uploading.').count()).toBe(0)
  await page.getByRole('button', { name: 'Cancel upload: a.png' }).waitFor()
  await expectClean()
  await page.getByRole('checkbox', { name: 'Second feed' }).check()
  await page.getByText('Files are still uploading.').waitFor()
  await page.getByRole('checkbox', { name: 'Second feed' }).uncheck()
  await page.getByRole('button', { name: 'Cancel upload: a.png' }).click()
  await expect.poll(() => page.getByRole('progressbar').count()).toBe(0)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  stop.resolve()
})

test('a reload, another tab and a killed browser keep the file of one channel and its alt text', async () => {
  await begin()
  await add().setInputFiles(picked('a.png', photo))
  await alt().fill('Before the reload')
  await page.reload() // right after the last key
  await expect.poll(() => alt().inputValue()).toBe('Before the reload')
  await expect.poll(member.copiedAlts).toEqual(['Before the reload'])
  await page.waitForURL('**/posts/new?copy=*')
  const [own] = await member.copiedOverrides()
  expect(own).toEqual({ channelId: second, mediaIds: [expect.any(String)] })

  const tab = await page.context().newPage()
  await tab.goto(page.url())
  await expect.poll(() => alt(tab).inputValue()).toBe('Before the reload')
  const killed = await aBrowserToKill(here, member)
  await killed.page.goto(page.url())
  await alt(killed.page).fill('Before the crash')
  await savedIn(killed.page)
  killed.kill()

  await page.goto(page.url())
  await expect.poll(() => alt().inputValue()).toBe('Before the crash')
  expect(await member.copiedOverrides()).toEqual([own])
  await killed.end()
})

test('a deselected channel keeps its file and its alt text in the copy', async () => {
  await begin()
  await add().setInputFiles(picked('a.png', photo))
  await alt().fill('Kept')
  await page.getByRole('checkbox', { name: 'Second feed' }).uncheck()
  await savedIn(page)
  await page.reload()
  await expect.poll(() => page.getByRole('checkbox', { name: 'Second feed' }).isChecked()).toBe(false)
  await page.getByRole('checkbox', { name: 'Second feed' }).check()
  await expect.poll(() => alt().inputValue()).toBe('Kept')
})

test('parts of an override that the page does not know stay when a file is uploaded for its channel', async () => {
  await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  const settings = { title: 'Known to a later version' }
  await withSettings(page, settings)
  await page.goto('/')
  await page.getByRole('link', { name: 'For all' }).click()
  await page.getByRole('button', { name: 'Choose media for this channel' }).last().click()
  await add().setInputFiles(picked('a.png', photo))
  await alt().waitFor()
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('_data='))
  await page.getByRole('button', { name: 'Save changes' }).click()

  const form = new URLSearchParams((await sent).postData() ?? '')
  expect(form.getAll('overrides').map((own) => JSON.parse(own))).toEqual([
    { channelId: second, content: 'Only for the second', settings, mediaIds: [expect.any(String)] },
  ])
})
