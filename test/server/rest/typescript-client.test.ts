import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import createClient from 'openapi-fetch'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWeb, type Web } from '../web.ts'

const Root = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
let w: Web
let folder: string // inside the repository, where packages are found
beforeAll(async () => {
  w = await openWeb()
  await mkdir(join(Root, 'build'), { recursive: true })
  folder = await mkdtemp(join(Root, 'build/client-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await w.end()
})

// What a third party writes. The lines that expect an error must not pass the compiler.
const program = `
import createClient from 'openapi-fetch'
import type { paths } from './punctual'

export async function use(baseUrl: string, key: string, channelId: string) {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: key } })
  const { data: post, error } = await api.POST('/posts', {
    params: { header: { 'Idempotency-Key': 'one' } },
    body: { type: 'schedule', date: '2099-01-01T00:00:00Z', content: 'Typed', channelIds: [channelId] },
  })
  if (error) throw new Error(error.detail)
  const { data: list } = await api.GET('/posts', { params: { query: { status: 'SCHEDULED', limit: 10 } } })
  const { data: changed } = await api.PATCH('/posts/{id}', { params: { path: { id: post.id } }, body: { content: 'Changed' } })
  const { response } = await api.DELETE('/posts/{id}', { params: { path: { id: post.id } } })
  const status: 'DRAFT' | string = post.deliveries[0]?.status ?? 'none'
  // @ts-expect-error: there is no such route
  api.GET('/nothing')
  // @ts-expect-error: a post of this type takes a date
  api.POST('/posts', { body: { type: 'schedule', content: 'x', channelIds: [] } })
  // @ts-expect-error: there is no such member
  post.kontent
  return { id: post.id, listed: list?.data.length, content: changed?.content, deleted: response.status, status }
}
`

test('npm run client makes types that a program with openapi-fetch compiles against', async () => {
  const types = join(folder, 'punctual.d.ts')
  await run('npm', ['run', '--silent', 'client', '--', types], { cwd: Root })
  await writeFile(join(folder, 'program.ts'), program)
  const tsc = join(Root, 'node_modules/typescript/bin/tsc')
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--types',
    'node',
  ]
  const { stdout } = await run(process.execPath, [tsc, ...options, join(folder, 'program.ts')], { cwd: folder }).catch(
    (failed: { stdout: string }) => failed,
  )
  expect(stdout).toBe('')
})

test('and the same calls of openapi-fetch work on a running installation', async () => {
  const channelId = await w.channel()
  const api = createClient<Record<string, never>>({
    baseUrl: `${w.site.appUrl}/public/v1`,
    headers: { Authorization: w.key },
  }) as unknown as Record<'GET' | 'POST' | 'PATCH' | 'DELETE', (path: string, more?: object) => Promise<Called>>
  const body = { type: 'schedule', date: '2031-01-01T00:00:00Z', content: 'Typed', channelIds: [channelId] }
  const { data: post } = await api.POST('/posts', { body })
  const path = { id: post?.id }
  const changed = await api.PATCH('/posts/{id}', { params: { path }, body: { content: 'Changed' } })
  expect(changed.data).toMatchObject({ content: 'Changed', version: 2 })
  const list = await api.GET('/posts', { params: { query: { status: 'SCHEDULED', limit: 10 } } })
  expect(list.data).toMatchObject({ data: [{ id: post?.id }] })
  expect((await api.DELETE('/posts/{id}', { params: { path } })).response.status).toBe(204)
  const gone = await api.PATCH('/posts/{id}', { params: { path }, body: { content: 'x' } })
  expect(gone.error).toMatchObject({ code: 'post_already_cancelled', status: 409 })
})

type Called = { data?: Record<string, unknown>; error?: Record<string, unknown>; response: Response }
