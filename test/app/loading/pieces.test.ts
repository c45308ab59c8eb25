import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Page } from '@playwright/test'
import { afterAll, expect, test } from 'vitest'
import { connectFeed, inBrowser, signUp } from '../browser.ts'
import { ShiftAtMost, shiftOf, untilDrawn, watchShifts } from './shifts.ts'

const PieceBytes = 1000
const PauseMs = 40 // longer than a frame, so that what has come is painted

let origin: string
let server: Server
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>
let pageOf: (width: number) => Promise<Page>

inBrowser(async (here) => {
  const page = await here.page()
  await signUp(page, here.site)
  for (const name of ['Bakery', 'Café', 'Workshop']) await connectFeed(page, name)
  state = await page.context().storageState()
  pageOf = (width) => here.page({ viewport: { width, height: 800 }, storageState: state })
  server = inPieces(here.site.appUrl)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(() => server?.close())

test.each([390, 1280])('no page moves while its document comes in pieces, %i pixels wide', async (width) => {
  const page = await pageOf(width)
  await watchShifts(page)
  for (const path of [
    '/',
    '/posts/new',
    '/channels',
    '/calendar',
    '/calendar?view=week',
    '/calendar?view=day',
    '/queues',
  ]) {
    await page.goto(origin + path) // twice: its style sheet is there, so that nothing but the document is waited for
    await page.goto(origin + path)
    await untilDrawn(page)
    expect(page.url()).toBe(origin + path)
    const shift = await shiftOf(page)
    process.stdout.write(`${path} ${width}: ${shift.toFixed(4)}\n`)
    expect.soft(`${path}: ${shift <= ShiftAtMost}`).toBe(`${path}: true`)
  }
})

/** What stands between the browser and the site: documents pass it a piece at a time. */
function inPieces(site: string): Server {
  return createServer(async (incoming, outgoing) => {
    const { cookie = '', accept = '' } = incoming.headers
    const answer = await fetch(site + incoming.url, { headers: { cookie, accept }, redirect: 'manual' })
    const headers = new Headers(answer.headers)
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name)
    outgoing.writeHead(answer.status, Object.fromEntries(headers))
    const body = Buffer.from(await answer.arrayBuffer())
    const size = headers.get('content-type')?.startsWith('text/html') ? PieceBytes : body.length
    for (let at = 0; at < body.length; at += size) {
      outgoing.write(body.subarray(at, at + size))
      if (size === PieceBytes) await setTimeout(PauseMs)
    }
    outgoing.end()
  })
}
