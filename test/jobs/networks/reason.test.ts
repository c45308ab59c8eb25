import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reasonIn } from '../../../jobs/networks/reason.ts'

test.each([
  [{ error: 'Validation failed: <b>Text</b> is too long' }, 'Validation failed: Text is too long'],
  [{ error: 'invalid_grant', error_description: 'The code is not good.' }, 'The code is not good.'],
  [{ error: { message: 'Too long', code: 7 } }, 'Too long'],
  [
    { error: { name: 'ZodError', issues: [{ path: ['status'], message: 'The text is empty.' }] } },
    'The text is empty.',
  ],
  [
    { error: { name: 'ZodError', message: '[{"code":"too_small","message":"The text is empty."}]' } },
    'The text is empty.',
  ],
  [
    { message: 'The given data was invalid.', errors: { status: ['Too long.'] } },
    'The given data was invalid.; status: Too long.',
  ],
  [
    { statusCode: 422, error: 'Unprocessable Entity', message: 'No more than 500' },
    'Unprocessable Entity; No more than 500',
  ],
  [{ error: ['Too long', 'Too rude', 'Too long'] }, 'Too long; Too rude'],
  [{ error: { status: ['is too long', 'is rude'] } }, 'status: is too long, is rude'],
  [{ error: 42 }, '42'],
  [{ error: [[['deep']]] }, 'deep'],
  [{ title: 'Forbidden', detail: 'Not in this room', status: 403 }, 'Not in this room; Forbidden'],
  ['Too long', 'Too long'],
  [{ error: true }, null],
  [{ error: null }, null],
  [{ error: {} }, null],
  [{ error: ' ' }, null],
  [{ success: false }, null],
  [[], null],
  [null, null],
  [undefined, null],
])('the reason in %j is %j', (body, reason) => {
  expect(reasonIn(body)).toBe(reason)
})

test('any answer of a server gives a reason of one line with at most 300 characters, and without our own JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (error) => {
      const reason = reasonIn({ error })
      if (reason === null) return
      expect(reason.length).toBeLessThanOrEqual(300)
      expect(reason).toMatch(/^\S(.*\S)?$/u)
      expect(reason).not.toContain('[object Object]')
    }),
    { seed: 14 },
  )
})

test('a hostile reason is cheap to read', () => {
  const unseen = '\u{E0041}'.repeat(1500) // removed by the parser
  let body: unknown = Object.fromEntries(
    ['error', 'message', 'detail', 'title', 'errors'].map((name) => [name, unseen]),
  )
  for (let depth = 0; depth < 5; depth++) body = { error: body }
  const before = process.cpuUsage()
  reasonIn(body)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(300)
})
