import type { Locator, Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { aVideo } from '../../../video.ts'
import { inBrowser } from '../../browser.ts'
import { aMember, savedIn, textOf } from '../../member.ts'
import { picked } from './files.ts'

let page: Page
inBrowser(async (here) => {
  page = (await aMember(here)).page
})

/** A second of red, as a browser records it: frames that it can also draw. */
async function redVideo(): Promise<Buffer> {
  const bytes = await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 })
    const pen = canvas.getContext('2d')!
    const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: 'video/webm' })
    const parts: Blob[] = []
    recorder.ondataavailable = ({ data }) => parts.push(data)
    const ended = new Promise((resolve) => {
      recorder.onstop = resolve
    })
    recorder.start()
    for (let frame = 0; frame < 30; frame++) {
      pen.fillStyle = frame % 2 ? '#ff0000' : '#fe0000' // a frame is recorded when something changes
      pen.fillRect(0, 0, 64, 48)
      await new Promise(requestAnimationFrame)
    }
    recorder.stop()
    await ended
    return [...new Uint8Array(await new Blob(parts).arrayBuffer())]
  })
  return Buffer.from(bytes)
}

/** Red, green and blue in the middle of what the video shows now. */
function colourOf(video: Locator): Promise<number[]> {
  return video.evaluate((element: HTMLVideoElement) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    const pen = canvas.getContext('2d')!
    pen.drawImage(element, 30, 20, 1, 1, 0, 0, 1, 1)
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3)
  })
}

async function expectRed(video: Locator): Promise<void> {
  await expect.poll(async () => (await colourOf(video))[0]).toBeGreaterThan(200)
  expect((await colourOf(video))[1]).toBeLessThan(60)
}

test('a video shows its first frame in the form, in the preview and among the media of a channel, also after a reload', async () => {
  await page.goto('/posts/new')
  await page.getByLabel('My feed').check()
  await textOf(page).fill('A red video')
  await page.getByLabel('Add media').setInputFiles(picked('red.webm', await redVideo(), 'video/webm'))
  await page.getByRole('group', { name: 'Video 1' }).waitFor()
  await page.getByRole('button', { name: 'Choose media for this channel' }).click()
  await savedIn(page)

  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload()
    await expectRed(page.getByRole('group', { name: 'Video 1' }).locator('video'))
    await expectRed(page.getByRole('article', { name: 'Post on Feed' }).locator('video'))
    await expectRed(page.getByRole('group', { name: 'Media for My feed' }).locator('video'))
  }
})

test('a video whose frames the browser cannot draw has a sign in its place', async () => {
  await page.goto('/posts/new')
  await page.getByLabel('My feed').check()
  await page.getByLabel('Add media').setInputFiles(picked('odd.webm', await aVideo('webm'), 'video/webm'))
  const preview = page.getByRole('article', { name: 'Post on Feed' })
  await preview.locator('video + svg').waitFor()
  expect((await preview.locator('video').boundingBox())!.width).toBeGreaterThan(200)
})
