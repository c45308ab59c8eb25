import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mastodon } from '../../../../jobs/networks/mastodon/mastodon.ts'
import { verdictOf } from '../http-contract.ts'
import { texts } from '../texts-to-recognise.json' with { type: 'json' }
import { lost, type MastodonStand, reading, stand } from './mastodon.stand.ts'

// Servers that render Markdown and give no source, such as Hollo.

let it: MastodonStand
beforeAll(async () => {
  it = await stand({ like: 'hollo' })
})
afterAll(() => it.close())

test.each(texts)('a post is recognised in Hollo’s own HTML: $name', async ({ text, html }) => {
  const shown = it.server.show({ content: html })
  expect(await reading(it, lost(text))).toBe(shown.id)
  it.server.statuses.length = 0
})

/** Sends a text whose answer is lost. Returns the id of its status. */
async function sendAndLose(on: MastodonStand, text: string): Promise<string> {
  on.server.statuses.length = 0
  on.server.next('POST /api/v1/statuses', 'reset after')
  expect(await verdictOf(mastodon.send(lost(text), on.session))).toMatchObject({ verdict: 'unknown' })
  return on.server.statuses[0]!.id
}

const word = fc.oneof(
  fc.stringMatching(/^[A-Za-zäöüßéèñ]{1,12}[.,!?:;]?$/),
  fc.constantFrom(
    '🎉',
    '👨‍👩‍👧',
    '&',
    '<3',
    ':-)',
    '->',
    '"quoted"',
    'AT&amp;T',
    '50%',
    '100%25',
    '１２',
    '漢字',
    'مرحبا',
    '(c)',
    '...',
  ),
  fc.constantFrom(
    'https://example.com/a_b?c=1&d=%C3%BC',
    'www.example.org',
    'example.com/x',
    'me@example.org',
    '<https://x.test>',
  ),
  fc.constantFrom(
    '#tag',
    '@ada',
    '@ada@example.org',
    '**bold**',
    '*it*',
    '_it_',
    '`code`',
    '~~no~~',
    '[a](https://x.test/)',
    '![alt](https://x.test/1.png)',
    '\\*',
    '[1]',
  ),
)
const start = fc.constantFrom(
  '',
  '',
  '',
  '# ',
  '> ',
  '- ',
  '1. ',
  '2026. ',
  '    ',
  '* ',
  '+ ',
  '---\n',
  '```\n',
  '[1]: https://x.test\n',
)
const line = fc
  .tuple(start, fc.array(word, { minLength: 1, maxLength: 8 }))
  .map(([begin, words]) => begin + words.join(' '))
const ordinary = fc
  .array(line, { minLength: 1, maxLength: 5 })
  .chain((lines) => fc.constantFrom('\n', '\n\n').map((between) => lines.join(between)))

describe('an ordinary text that was sent', () => {
  test('is never absent from a server that shows HTML only', async () => {
    await fc.assert(
      fc.asyncProperty(ordinary, async (text) => {
        const id = await sendAndLose(it, text)
        expect([id, 'unclear']).toContain(await reading(it, lost(text)))
      }),
      { numRuns: 300 },
    )
  })

  test('is found by the source that a server gives at its own address', async () => {
    const on = await stand({ like: 'hollo', givesSource: true })
    for (const { text } of texts) {
      const id = await sendAndLose(on, text)
      expect(await reading(on, lost(text)), text).toBe(id)
      expect(on.server.received.at(-1)?.route).toBe(`GET /api/v1/statuses/${id}/source`)
    }
    await on.close()
  })
})
