import { expect, test } from 'vitest'
import { NewKey, SignUp, UpdateAccount } from '../../../server/accounts/forms.ts'
import { CreateApp } from '../../../server/oauth/forms.ts'

/** What is wrong with a name, wherever one is given: of an app, a key, a person, an organisation. */
function faultsOf(name: string): string[] {
  const person = { email: 'ada@example.org', timeZone: 'UTC' }
  const refused = [
    CreateApp.safeParse({ name, redirectUris: ['https://a.example/'] }),
    NewKey.safeParse({ name }),
    UpdateAccount.safeParse({ name, ...person }),
    SignUp.safeParse({ ...person, name, organisation: 'Works', password: 'a good password' }),
    SignUp.safeParse({ ...person, name: 'Ada', organisation: name, password: 'a good password' }),
  ].map(({ error }) => (error?.issues ?? []).map(({ message }) => message).join())
  expect(new Set(refused).size, JSON.stringify(name)).toBe(1)
  return refused[0] ? [refused[0]] : []
}

test('a name that nobody can see, that breaks its line or that turns the words after it round is refused', () => {
  const invisible = [
    '\u200b',
    '\u3164',
    '\u00ad',
    '\u2060',
    '\u115f\u1160',
    '\uffa0',
    '\u2800',
    '\u2066\u2069',
    '\u034f',
  ]
  const breaking = [
    'Shop\u0007',
    'Shop\nwindow',
    'Shop\u2028window',
    'Shop\twindow',
    'Shop\u0085window',
    'Shop\u009b1m',
  ]
  const turning = ['\u202eShop', 'Shop\u202d', 'Shop\u2067', '\u202aShop\u202c']
  for (const name of [...invisible, ...breaking, ...turning])
    expect([name, ...faultsOf(name)]).toEqual([name, 'Must be one line of visible text.'])
  expect(faultsOf('  ')).toEqual(['Required.'])
})

test('names of every script are taken as they are', () => {
  const names = [
    'Zoë & Søn’s “Café”',
    '日本語',
    'متجر‏ Shop',
    'חנות',
    'क्‍ष',
    '👩‍👩‍👧',
    '🛒',
    '!',
    '1',
    '한국',
    'a\u200db',
  ]
  for (const name of names) expect([name, ...faultsOf(name)]).toEqual([name])
})
