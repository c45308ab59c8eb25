import type { Locator, Page } from '@playwright/test'
import sharp from 'sharp'

/** What a browser does when this picture is dragged over the element, dropped on it, or pasted into it. */
export async function give(
  event: 'dragover' | 'drop' | 'paste',
  element: Locator,
  photo: Buffer,
  types: Record<string, string> = {},
): Promise<void> {
  await element.evaluate(
    (node, { event, bytes, types }) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array(bytes)], 'given.png', { type: 'image/png' }))
      for (const [type, text] of Object.entries(types)) data.setData(type, text)
      const about = { bubbles: true, cancelable: true }
      const made =
        event === 'paste'
          ? new ClipboardEvent(event, { ...about, clipboardData: data })
          : new DragEvent(event, { ...about, dataTransfer: data })
      node.dispatchEvent(made)
    },
    { event, bytes: [...photo], types },
  )
}

/** From now on, the page sends this many bytes a second. Returns what ends that. */
export async function slowUploads(page: Page, bytesPerSecond: number): Promise<() => Promise<unknown>> {
  const session = await page.context().newCDPSession(page)
  const conditions = { offline: false, latency: 0, downloadThroughput: -1 }
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: bytesPerSecond })
  return () => session.send('Network.emulateNetworkConditions', { ...conditions, uploadThroughput: -1 })
}

/** A picture that takes a while to send: nothing in it can be compressed. */
export async function largePhoto(): Promise<Buffer<ArrayBuffer>> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  const made = sharp({ create: { width: 600, height: 600, channels: 3, background: 'teal', noise } })
  return Buffer.from(await made.png().toBuffer())
}

/** A file as Playwright gives it to a file input. */
export function picked(name: string, buffer: Buffer, mimeType = 'image/png') {
  return { name, mimeType, buffer }
}
