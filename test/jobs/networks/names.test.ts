import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainName } from '../../../jobs/networks/names.ts'

const family = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'
const scotland = '\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}'

test.each([
  ['Ada L.', 'Ada L.'],
  ['  Ada \t\r\n L.\u2028 ', 'Ada L.'],
  ['A\0d\u0007a\u007F\u0080\u009F', 'Ada'],
  ['Bank\u202Egnp.exe\u202C', 'Bankgnp.exe'],
  ['\u2066ada\u2069\u200E\u200F\u061C', 'ada'],
  ['a\u200Bd\u2060a\uFEFF\u00AD', 'ada'],
  ['ad\u200Cmin', 'admin'],
  ['ad\u200Dmin\u200D', 'admin'],
  ['\u200D\u200C', ''],
  [`${family} \u2764\uFE0F\u200D\u{1F525}`, `${family} \u2764\uFE0F\u200D\u{1F525}`],
  [`Alba ${scotland}`, `Alba ${scotland}`],
  ['A\u{E0067}da', 'Ada'],
  ['\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645', '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645'],
  ['\u0915\u094D\u200D\u0937', '\u0915\u094D\u200D\u0937'],
  ['\uD800Ada', '\uFFFDAda'],
  ['x'.repeat(101), 'x'.repeat(100)],
  [family.repeat(21), family.repeat(20)],
  [`${'x'.repeat(98)}${family}`, 'x'.repeat(98)],
  [`${'x'.repeat(99)}e\u0301`, 'x'.repeat(99)],
  [`e${'\u0301'.repeat(200)}`, ''],
  ['', ''],
])('the name %j from a network is stored as %j', (given, kept) => {
  expect(plainName(given)).toBe(kept)
})

test('any account name from a network becomes one line of at most 100 characters, and a second pass does not change it', () => {
  const unseen = fc.constantFrom('\u202E', '\u2066', '\u200D', '\u200C', '\0', '\n', '\u{E0061}', family, scotland)
  const names = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), unseen))
  fc.assert(
    fc.property(names, (parts) => {
      const name = plainName(parts.join(''))
      expect(Array.from(name).length).toBeLessThanOrEqual(100)
      expect(name).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u061C\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/u)
      expect(plainName(name)).toBe(name)
    }),
    { numRuns: 500, seed: 14 },
  )
})
