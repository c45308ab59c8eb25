import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// What we can check without Docker. docs/operations.md says how we tried the image itself.

const Root = join(import.meta.dirname, '..')
const [dockerfile, compose, ignored, env] = ['Dockerfile', 'compose.yaml', '.dockerignore', 'db/env.ts'].map(
  (file) => readFileSync(join(Root, file), 'utf8').replaceAll(/^\s*#.*\n/gm, ''), // without the comments
) as [string, string, string, string]

test('the build of the image sees exactly the files that it copies, and all of them exist', () => {
  const copied = found(dockerfile, /^COPY (?!--from)(.+) \S+$/gm).flatMap((sources) => sources.split(' '))
  expect(copied).not.toEqual([])
  expect(copied.filter((path) => !existsSync(join(Root, path)))).toEqual([])
  expect(ignored.split('\n')[0]).toBe('*')
  expect(found(ignored, /^!(.+)$/gm).sort()).toEqual([...new Set(copied)].sort())
})

test('the build makes every program that a container runs', () => {
  const programs = found(dockerfile + compose, /\b(build\/\w+\.js)/g)
  expect(new Set(programs)).toEqual(new Set(['web', 'worker', 'admin', 'start'].map((name) => `build/${name}.js`)))
  expect(programs.filter((path) => !existsSync(join(Root, path)))).toEqual([])
})

test('every program on a Node that is too old says which Node it needs', () => {
  const older = "data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })"
  for (const name of ['web', 'worker', 'admin', 'start']) {
    const { status, stderr } = spawnSync(process.execPath, ['--import', older, join(Root, `build/${name}.js`)])
    expect(status).toBe(1)
    expect(String(stderr)).toBe('Punctual needs Node 24 or newer; this is Node 20.20.2.\n')
  }
})

test('every program prints its version', () => {
  const { version } = JSON.parse(readFileSync(join(Root, 'package.json'), 'utf8'))
  for (const name of ['web', 'worker', 'admin', 'start']) {
    const { status, stdout } = spawnSync(process.execPath, [join(Root, `build/${name}.js`), '--version'], {
      timeout: 60_000,
    })
    expect([name, status, String(stdout)]).toEqual([name, 0, `${version}\n`])
  }
})

test('the newest version in the changelog is the version that is built', () => {
  const { version } = JSON.parse(readFileSync(join(Root, 'package.json'), 'utf8'))
  const newest = /^## \[(\d+\.\d+\.\d+)\] - (unreleased|\d{4}-\d\d-\d\d)$/m.exec(
    readFileSync(join(Root, 'CHANGELOG.md'), 'utf8'),
  )
  expect(newest?.[1]).toBe(version)
})

test('the product reads every variable that the containers get', () => {
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

test('containers open the ports for health and metrics to each other', () => {
  expect(dockerfile).toMatch(/^ENV .*\bHOST=0\.0\.0\.0\b/m)
  expect(compose).toMatch(/^ +HOST: 0\.0\.0\.0\b/m)
})

test('no secret has a default: both must be set', () => {
  const secrets = found(compose, /(\$\{(?:SECRET_KEYS|POSTGRES_PASSWORD)[^}]*\})/g)
  expect(secrets).toHaveLength(3)
  expect(secrets.filter((secret) => !/:\?put one into \.env/.test(secret))).toEqual([])
  expect(dockerfile).not.toMatch(/SECRET|PASSWORD/)
})

function found(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '')
}
