import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// What can be held without Docker. docs/operations.md says how the image itself was tried.

const Root = join(import.meta.dirname, '..')
const [dockerfile, compose, ignored, env] = ['Dockerfile', 'compose.yaml', '.dockerignore', 'db/env.ts'].map(
  (file) => readFileSync(join(Root, file), 'utf8').replaceAll(/^\s*#.*\n/gm, ''), // less the comments
) as [string, string, string, string]

test('the image is made of files that are there, and is shown no others', () => {
  const copied = found(dockerfile, /^COPY (?!--from)(.+) \S+$/gm).flatMap((sources) => sources.split(' '))
  expect(copied).not.toEqual([])
  expect(copied.filter((path) => !existsSync(join(Root, path)))).toEqual([])
  expect(ignored.split('\n')[0]).toBe('*')
  expect(found(ignored, /^!(.+)$/gm).sort()).toEqual([...new Set(copied)].sort())
})

test('every program that a container runs is one that the build makes', () => {
  const programs = found(dockerfile + compose, /\b(build\/\w+\.js)/g)
  expect(new Set(programs)).toEqual(new Set(['web', 'worker', 'admin', 'start'].map((name) => `build/${name}.js`)))
  expect(programs.filter((path) => !existsSync(join(Root, path)))).toEqual([])
})

test('every program says which Node it needs where that is too old', () => {
  const older = "data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })"
  for (const name of ['web', 'worker', 'admin', 'start']) {
    const { status, stderr } = spawnSync(process.execPath, ['--import', older, join(Root, `build/${name}.js`)])
    expect(status).toBe(1)
    expect(String(stderr)).toBe('Punctual needs Node 24 or newer; this is Node 20.20.2.\n')
  }
})

test('every variable that the containers are given is one that the product reads', () => {
  const ofPostgres = /^POSTGRES_/
  const known = found(env, /^ {2}([A-Z][A-Z0-9_]*):/gm)
  const given = [
    ...found(dockerfile, /^ENV (.+)$/gm).flatMap((pairs) => found(pairs, /([A-Z_]+)=/g)),
    ...found(compose, /\$\{(\w+)/g),
    ...found(compose, /^ +([A-Z][A-Z_]+):/gm),
  ]
  expect(given).toEqual(expect.arrayContaining(['NODE_ENV', 'PORT', 'SECRET_KEYS', 'DATABASE_URL']))
  expect(given.filter((name) => !known.includes(name) && !ofPostgres.test(name))).toEqual([])
})

test('nothing starts with a secret that everybody knows: both are demanded', () => {
  const secrets = found(compose, /(\$\{(?:SECRET_KEYS|POSTGRES_PASSWORD)[^}]*\})/g)
  expect(secrets).toHaveLength(3)
  expect(secrets.filter((secret) => !/:\?put one into \.env/.test(secret))).toEqual([])
  expect(dockerfile).not.toMatch(/SECRET|PASSWORD/)
})

function found(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '')
}
