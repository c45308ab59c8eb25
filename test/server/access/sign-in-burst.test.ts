import { afterAll, beforeAll, expect, test } from 'vitest'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

test('of 150 sign-ins at once some are told to come back in a moment, the others are answered, and then all are again', async () => {
  const browser = aBrowser(w.site.appUrl)
  const signIn = (i: number) => browser.post('/login', { email: `nobody${i}@example.org`, password: 'a good password' })
  const answers = await Promise.all(Array.from({ length: 150 }, (_, i) => signIn(i)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]))
  for (const { text, headers } of answers.filter(({ status }) => status === 429)) {
    expect(headers.get('retry-after')).toBe('2')
    expect(text).toContain('Too many people are signing in right now. Try again in a moment.')
  }
  expect((await signIn(0)).status).toBe(401)
})
