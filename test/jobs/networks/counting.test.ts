import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import { mastodon } from '../../../jobs/networks/mastodon/mastodon.ts'
import { excessOf, lengthOf } from '../../../jobs/networks/text-length.ts'
import { outboundToLoopback } from './http-contract.ts'
import { type FakeMastodon, fakeMastodon } from './mastodon/mastodon.fake.ts'
import { registrationsInMemory } from './mastodon/registrations.ts'

const TextsOfAServer = 5000
const Limit = 100

// What a server says about itself, and how it counts.
type Server = { says: unknown; counts: (text: string) => number }

const says = (version: string, source_url: string, characters_reserved_per_url?: number) => ({
  ...{ version, source_url },
  configuration: { statuses: { max_characters: Limit, characters_reserved_per_url } },
})
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

const servers: Record<string, Server> = {
  // app/validators/status_length_validator.rb: graphemes, with 23 characters for each link that it finds.
  Mastodon: {
    says: says('4.5.2', 'https://github.com/mastodon/mastodon', 23),
    counts: (text) => graphemesOf(withPlaceholders(text)),
  },
  // internal/processing/status: len([]rune(status)). It says 25 per link and never uses it.
  GoToSocial: {
    says: says('0.20.1+git-4ce0d4a', 'https://codeberg.org/superseriousbusiness/gotosocial', 25),
    counts: (text) => [...text].length,
  },
  'GoToSocial that says a version of Mastodon': {
    says: says('3.5.3+0.17.0', 'https://github.com/superseriousbusiness/gotosocial', 25),
    counts: (text) => [...text].length,
  },
  // lib/pleroma/web/common_api/utils.ex: String.length of the trimmed text.
  'Pleroma and Akkoma': {
    says: { version: '2.7.2 (compatible; Pleroma 2.10.0)', max_toot_chars: Limit },
    counts: (text) => graphemesOf(text.trim()),
  },
  // src/api/v2/instance.ts gives only its own version, and 256 per link.
  Hollo: {
    says: says('0.7.4', 'https://github.com/fedify-dev/hollo', 256),
    counts: (text) => [...text].length,
  },
  // The length of a string in .NET.
  'one that counts UTF-16 units, such as Iceshrimp.NET': {
    says: says('4.2.1 (compatible; Iceshrimp.NET/2026.1)', 'https://iceshrimp.dev/iceshrimp/Iceshrimp.NET', 23),
    counts: (text) => text.length,
  },
}

describe.each(Object.entries(servers))('%s', (_, { says: instance, counts }) => {
  let server: FakeMastodon
  let limits: ChannelLimits
  beforeAll(async () => {
    server = await fakeMastodon()
    limits = await limitsOn(server, instance)
  })
  afterAll(() => server.close())

  test(`accepts each of ${TextsOfAServer} texts with links that we allow at its limit`, () => {
    fc.assert(
      fc.property(texts, (pieces) => {
        const text = filled(pieces, limits)
        expect(excessOf(limits, text), text).toBeNull()
        expect(counts(text), text).toBeLessThanOrEqual(Limit)
      }),
      { numRuns: TextsOfAServer, seed: 14 },
    )
  })
})

test('a long link counts 23 on Mastodon, its full length where the server counts that, and more where the rule is unknown', async () => {
  const long = `See https://example.com/${'a/'.repeat(10)}?q=1&r=%C3%A9#end, please`
  const counted = await Promise.all(
    Object.entries(servers).map(async ([name, { says: instance, counts }]) => {
      const server = await fakeMastodon()
      const limits = await limitsOn(server, instance)
      await server.close()
      return [name, lengthOf(limits, long), counts(long)]
    }),
  )
  const raw = long.length
  expect(counted).toEqual([
    ['Mastodon', 35, 35],
    ['GoToSocial', raw, raw],
    ['GoToSocial that says a version of Mastodon', raw, raw],
    ['Pleroma and Akkoma', raw, raw],
    ['Hollo', 4 + 256 + 8, raw],
    ['one that counts UTF-16 units, such as Iceshrimp.NET', raw, raw],
  ])
})

async function limitsOn(server: FakeMastodon, instance: unknown): Promise<ChannelLimits> {
  const { connecting } = mastodon
  if (connecting.by !== 'redirect') return expect.fail('Mastodon is connected by a redirect.')
  const access = { outbound: outboundToLoopback(), registrations: registrationsInMemory() }
  const request = { redirectUri: 'http://localhost:3000/back', state: 'st' }
  const { kept } = await connecting.begin({ instance: server.url }, request, access)
  server.next('GET /api/v2/instance', { status: 200, body: instance })
  const back = (kept as { redirectUri: string }).redirectUri.split('/').at(-1)!
  const answer = { server: back, code: server.code, error: null, iss: null }
  return (await connecting.finish(kept, answer, access)).limits
}

// Texts as pieces, joined with nothing between them.
const host = fc.constantFrom(
  ...[
    'example.com',
    'a.co',
    'sub-1.example.org',
    'EXAMPLE.NET',
    'social.example',
    'localhost',
    'a.b',
    't.co',
    'foo_.com',
  ],
  ...[
    'münchen.de',
    'example.comx',
    'example.com.',
    'xn--mnchen-3ya.de',
    '127.0.0.1',
    'user@example.com',
    'a.b.c.d.museum',
  ],
  ...[
    'example.com:8080',
    'example.com:x',
    'www.a-long-name-of-a-host.example.com',
    'example.zz',
    'example.技術',
    '-.com',
  ],
)
const inPath = fc.constantFrom(
  ...[
    'a',
    'Z',
    '0',
    '/',
    '_',
    '-',
    '.',
    '~',
    '%C3%A9',
    '+',
    '=',
    '#',
    '&',
    '@',
    ':',
    ';',
    ',',
    '!',
    '?',
    '*',
    "'",
    '"',
  ],
  ...[
    '(',
    ')',
    '(b)',
    '[',
    ']',
    '<',
    '>',
    '|',
    'é',
    '技',
    '\u{1F600}',
    '。',
    '「',
    '\u200B',
    '\uFEFF',
    '$',
    '^',
    'abcdefgh',
    '?a=1',
  ],
)
const rest = fc.oneof(
  fc.constant(''),
  fc
    .tuple(fc.constantFrom('/', '?', '#', ':'), fc.array(inPath, { maxLength: 30 }))
    .map(([sign, parts]) => sign + parts.join('')),
)
const scheme = fc.constantFrom(
  'https://',
  'https://',
  'https://',
  'http://',
  'HTTPS://',
  'ipfs://',
  'ssb://',
  'ftp://',
  'https:/',
)
const link = fc.tuple(scheme, host, rest).map((parts) => parts.join(''))
const between = fc.constantFrom(
  ' ',
  ' ',
  ' ',
  '\n',
  '\r\n',
  '\t',
  '',
  '(',
  ')',
  ',',
  '.',
  '\u00A0',
  '\u3000',
  '\uFEFF',
  '\u202E',
  '@',
  '#',
  '$',
  'x',
  '技',
)
const word = fc.constantFrom(
  'word',
  '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}',
  'é',
  'e\u0301',
  '技術',
  '@bob@example.org',
  '#tag',
  '\u{1F1E9}\u{1F1EA}',
  '\r\n',
  '',
)
const texts = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.tuple(between, link).map((parts) => parts.join('')) },
    fc.tuple(between, word).map((parts) => parts.join('')),
  ),
  { minLength: 1, maxLength: 8 },
)

/** As many of the pieces as fit, then words up to the limit. */
function filled(pieces: string[], limits: ChannelLimits): string {
  let text = ''
  for (const piece of pieces) if (!excessOf(limits, text + piece)) text += piece
  while (!excessOf(limits, `${text} x`)) text += ' x'
  return excessOf(limits, `${text} `) ? text : `${text} `
}

function graphemesOf(text: string): number {
  return [...graphemes.segment(text)].length
}

// config/initializers/twitter_regex.rb of Mastodon, on top of the expressions of twitter-text 3.1, for the hosts
// above.
const Invalid = '\\uFFFE\\uFEFF\\uFFFF'
const Directional = '\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069'
const InDomain = `[^${Directional}!-/:-@\\[-\`{-~\\s\\p{Cc}${Invalid}\\p{White_Space}]`
const Domain =
  `(?:(?:${InDomain}(?:[_-]|${InDomain})*)?${InDomain}\\.)*(?:(?:${InDomain}(?:-|${InDomain})*)?${InDomain}\\.)` +
  '(?:(?:com|co|org|net|de|museum)(?=[^0-9a-z@+-]|$)|xn--[0-9a-z]+)'
const General = '[^\\p{White_Space}<>()?]'
const Parens = `\\((?:${General}+|${General}*\\(${General}+\\)${General}*)\\)`
const PathEnd = `(?:[^\\p{White_Space}()?!*"'「」<>;:=,.$%\\[\\]~&|@]|${Parens})`
const PathOf = `(?:${General}*(?:${Parens}${General}*)*${PathEnd}|${General}+/)`
const Wide = '\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}'
const QueryOf = `\\?[a-z0-9!?*'();:&=+$/%#\\[\\]\\-_.,~|@^${Wide}]*[a-z0-9_&=#/\\-${Wide}]`
const Url = new RegExp(
  `([^A-Z0-9@＠$#＃${Invalid}]|[${Directional}]|^)` +
    `((?:https?|dat|dweb|ipfs|ipns|ssb|gopher|gemini)://${Domain}(?::[0-9]+)?(?:/${PathOf}*)?(?:${QueryOf})?)`,
  'gimu',
)
const TCo = /^https?:\/\/t\.co\/([a-z0-9]+)/i

function withPlaceholders(text: string): string {
  return text.replace(Url, (_, before: string, url: string) => {
    const short = TCo.exec(url)?.[0]
    return before + 'x'.repeat(23) + (short ? url.slice(short.length) : '')
  })
}

test.each(['(ssb://', '(http://', 'http://', '(http://a.co', '(http://a.co ', 'http://a.'])(
  'a text of only %s is cheap to count',
  (piece) => {
    const rule = { textLength: 500, textUnit: 'characters', urlsCountAs: 23, shortensUrls: true } as const
    const before = process.cpuUsage()
    for (let i = 0; i < 10; i++) lengthOf(rule, piece.repeat(100_000 / piece.length))
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(400) // a few times the usual time
  },
)
