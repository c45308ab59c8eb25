import { expect, test } from 'vitest'
import { originOf } from '../../../jobs/networks/origin.ts'

test.each([
  ['social.example', 'https://social.example'],
  [' Social.Example/ ', 'https://social.example'],
  ['social.example/@ada', 'https://social.example'],
  ['https://social.example/@ada', 'https://social.example'],
  ['@ada@social.example', 'https://social.example'],
  ['ada@social.example', 'https://social.example'],
  ['münchen.social', 'https://xn--mnchen-3ya.social'],
  ['social.example:8443', 'https://social.example:8443'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://localhost:8080/', 'http://localhost:8080'],
  ['http://snac:8080', 'http://snac:8080'],
  ['http://10.1.2.3', 'http://10.1.2.3'],
])('%j is the server %s', (typed, origin) => {
  expect(originOf(typed, 'instance')).toBe(origin)
})

test.each(['', '@', 'a b', 'http://', 'http://social.example', 'http://8.8.8.8', 'https://'])(
  '%j is not a server',
  (typed) => {
    expect(() => originOf(typed, 'instance')).toThrow(/^Type /)
  },
)
