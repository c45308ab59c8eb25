import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aBrowser } from '../browser.ts'
import { aHouse, Password } from '../house.ts'
import { openWeb, type Web } from '../web.ts'

describe.each(['open', 'closed'])('with sign-up %s, the first page', (signup) => {
  let w: Web
  beforeAll(async () => {
    w = await openWeb({ SIGNUP: signup })
  })
  afterAll(() => w.end())

  test('offers visitors the ways in that there are, and no script', async () => {
    const { status, text } = await aBrowser(w.site.appUrl).get('/')
    expect([status, text.includes('href="/login"'), text.includes('<script')]).toEqual([200, true, false])
    expect(text.includes('href="/signup"')).toBe(signup === 'open')
  })

  test('sends visitors with a filter to the sign-in, and back to it', async () => {
    const { status, headers } = await aBrowser(w.site.appUrl).get('/?status=DRAFT')
    expect([status, headers.get('location')]).toEqual([302, '/login?next=%2F%3Fstatus%3DDRAFT'])
  })

  test('shows members their posts', async () => {
    const { member } = await aHouse(w)
    const browser = aBrowser(w.site.appUrl)
    await browser.post('/login', { email: member.email, password: Password })
    const { text } = await browser.get('/')
    expect(text).toContain('>New post<')
    expect(text).toContain('<script')
  })
})
