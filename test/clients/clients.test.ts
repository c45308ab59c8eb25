import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { variablesWith } from '../../db/env.ts'
import { aPhoto } from '../builders.ts'
import { openWeb, type Web } from '../server/web.ts'
import { type Generator, generators } from './programs.ts'

const Here = import.meta.dirname
const Root = join(Here, '../..')
const run = promisify(execFile)
let w: Web
let photo: Buffer
let scratch: string // below the generators' packages, so that what they make finds them
beforeAll(async () => {
  w = await openWeb()
  photo = await aPhoto()
  await mkdir(join(Here, 'build'), { recursive: true })
  scratch = await mkdtemp(join(Here, 'build/made-'))
})
afterAll(async () => {
  await rm(scratch, { recursive: true })
  await w.end()
})

test.each(generators)('$name makes a client that compiles strictly, uploads a file and posts it', async (generator) => {
  const folder = await mkdtemp(join(scratch, 'client-'))
  await generate(folder, generator)
  await writeFile(join(folder, 'program.ts'), `${generator.program}\nexport {}\n`)
  expect(await compiled(folder)).toBe('')

  const post = JSON.parse(await output(folder))

  expect(post).toMatchObject({ content: 'Made by a client', status: 'DRAFT' })
  const { json: media } = await w.call('GET', `/media/${post.mediaIds[0]}`)
  expect(media).toMatchObject({ kind: 'image', alt: 'A lake' })
  expect(media.bytes).toBeGreaterThan(0)
})

async function generate(folder: string, { command: [name, ...options], files = {} }: Generator): Promise<void> {
  const document = await w.call('GET', '/openapi.json', { key: '' })
  await writeFile(join(folder, 'openapi.json'), document.text)
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  await mkdir(join(folder, 'made'))
  const program = await realpath(join(Here, 'node_modules/.bin', name!))
  await run(process.execPath, [program, ...options], { cwd: folder, env })
}

// What a generator starts is this Node too.
const env = variablesWith({ PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), CI: 'true' })

/** What the compiler has against the program and all that it takes from the client; nothing is the best. */
async function compiled(folder: string): Promise<string> {
  const tsc = join(Root, 'node_modules/typescript/bin/tsc')
  const strictly = ['--noEmit', '--strict', '--noImplicitReturns', '--target', 'es2022', '--module', 'esnext']
  const modules = ['--moduleResolution', 'bundler', '--allowImportingTsExtensions', '--types', 'node', '--skipLibCheck']
  const { stdout } = await run(process.execPath, [tsc, ...strictly, ...modules, 'program.ts'], { cwd: folder }).catch(
    (failed: { stdout: string }) => failed,
  )
  return stdout
}

async function output(folder: string): Promise<string> {
  const outfile = join(folder, 'program.mjs')
  await build({ entryPoints: [join(folder, 'program.ts')], bundle: true, platform: 'node', format: 'esm', outfile })
  const picture = join(folder, 'lake.jpg')
  await writeFile(picture, photo)
  const variables = { BASE_URL: `${w.site.appUrl}/public/v1`, PUNCTUAL_KEY: w.key, PICTURE: picture }
  const { stdout } = await run(process.execPath, [outfile], { cwd: folder, env: { ...env, ...variables } })
  return stdout
}
