import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { variablesWith } from '../../../db/env.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

const Root = resolve(import.meta.dirname, '../../..')
const Common = 'This is one of the passwords that attackers try first. Choose another one.'
const Own = 'Do not use your e-mail address or a name that goes with your account. Choose another password.'

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

const person = { name: 'Ada Lovelace', email: 'ada.lovelace@example.org', organisation: 'Difference Engines' }
const refused: [string, string][] = [
  ['1234567890', Common],
  ['qwertyuiop', Common],
  ['QwertyUiop', Common],
  ['Password123!', Common],
  ['2026dragon!!', Common],
  ['ada.lovelace@example.org', Own],
  ['Ada.Lovelace', Own],
  ['ada-lovelace-42', Own],
  ['differenceengines', Own],
  ['Difference Engines!', Own],
  ['Punctual2026', Own],
]

const signUp = (password: string, form = person) => aBrowser(w.site.appUrl).post('/signup', { ...form, password })

test.each(refused)('%s is refused at sign-up, beside its field', async (password, said) => {
  const { status, text } = await signUp(password)
  expect(status).toBe(422)
  expect(text).toContain(said)
  const [field] = text.match(/<input[^>]*name="password"[^>]*>/) ?? []
  expect(field).toContain('aria-invalid="true"')
  expect(field).not.toContain('value=')
})

test('and as a new password, after which the old one is still good', async () => {
  const browser = aBrowser(w.site.appUrl)
  const grace = { ...person, email: 'grace@example.org', organisation: 'Works of Grace' }
  expect((await browser.post('/signup', { ...grace, password: 'a good password' })).status).toBe(302)
  const change = { intent: 'password', current: 'a good password' }
  for (const [password, said] of [
    ['qwertyuiop', Common],
    ['grace@example.org', Own],
    ['Works of Grace', Own],
  ] as const) {
    const { status, text } = await browser.post('/settings/account', { ...change, password })
    expect([password, status, text.includes(said)]).toEqual([password, 422, true])
  }
  expect((await browser.post('/settings/account', { ...change, password: 'a better password' })).status).toBe(200)
})

test('and by the commands that set one', async () => {
  const env = variablesWith(w.site.env)
  const admin = (...command: string[]) =>
    promisify(execFile)(process.execPath, [resolve(Root, 'build/admin.js'), ...command], { env }).then(
      () => 'done',
      ({ stderr }: { stderr: string }) => stderr,
    )
  const account = ['--email', 'op@example.org', '--organisation', 'Operations Team']
  expect(await admin('create-account', ...account, '--password', 'password123')).toContain(`password: ${Common}`)
  expect(await admin('create-account', ...account, '--password', 'Operations Team')).toContain(`password: ${Own}`)
  expect(await admin('create-account', ...account, '--password', 'correct horse')).toBe('done')
  const reset = ['reset-password', '--email', 'op@example.org', '--password']
  expect(await admin(...reset, 'op@example.org')).toContain(`password: ${Own}`)
  expect(await admin(...reset, 'password123')).toContain(`password: ${Common}`)
  expect(await admin(...reset, 'battery staple')).toBe('done')
})

test('a command takes the password from standard input, where no list of processes shows it', async () => {
  const env = variablesWith(w.site.env)
  const admin = async (input: string, ...command: string[]) => {
    const run = promisify(execFile)(process.execPath, [resolve(Root, 'build/admin.js'), ...command], { env })
    run.child.stdin?.end(input)
    return run.then(
      ({ stdout }) => JSON.parse(stdout).note ?? 'done',
      ({ stderr }: { stderr: string }) => stderr,
    )
  }
  const signIn = async (password: string) =>
    (await aBrowser(w.site.appUrl).post('/login', { email: 'in@example.org', password })).status
  const account = ['create-account', '--email', 'in@example.org', '--organisation', 'Inputs']
  const none = 'Pass the password on standard input, or run the command at a terminal and type it.\n'
  expect(await admin('', ...account)).toBe(none)
  expect(await admin('password123\n', ...account)).toContain(`password: ${Common}`)

  expect(await admin('correct horse\n', ...account)).toBe('done')
  expect(await signIn('correct horse')).toBe(302)
  const kept = 'This address already had an account. It keeps its name and password.'
  expect(await admin('another battery\n', ...account)).toBe(kept)
  expect([await signIn('another battery'), await signIn('correct horse')]).toEqual([401, 302])
  const reset = ['reset-password', '--email', 'in@example.org', '--password-stdin']
  expect(await admin(' battery staple ', ...reset)).toBe('done')
  expect([await signIn('correct horse'), await signIn(' battery staple ')]).toEqual([401, 302])
  expect(await admin('x', ...reset, '--password', 'x')).toBe('Use --password-stdin or --password, not both.\n')
})

test('what only holds a common word is fine', async () => {
  for (const password of ['my dragon likes tea', 'correct horse', 'x7k2m9q4w1'])
    expect([password, (await signUp(password, { ...person, email: `${password.length}@example.org` })).status]).toEqual(
      [password, 302],
    )
})

test('no script that a browser gets holds the list', () => {
  const scripts = globSync('public/build/**/*.js', { cwd: Root })
  expect(scripts.length).toBeGreaterThan(10)
  for (const file of scripts)
    expect([file, /qwertyuiop|1q2w3e4r|zxcvbn/.test(readFileSync(resolve(Root, file), 'utf8'))]).toEqual([file, false])
})
