/** A generator of clients: how it is called, and what a third party writes with what it makes. */
export type Generator = {
  name: string
  /** Its arguments after node; the document is openapi.json in the folder in which it runs, and what it makes goes to `made`. */
  command: string[]
  /** Files that it reads besides. */
  files?: Record<string, string>
  /** A program that uploads `file` with its text, puts it into a draft and prints the post. */
  program: string
}

// The same in each: where the site is, the credential, the file, and the draft that is printed.
const begin = `
const [baseUrl, key] = [process.env.BASE_URL!, process.env.PUNCTUAL_KEY!]
const headers = { Authorization: key }
const file = new File([await readFile(process.env.PICTURE!)], 'lake.jpg', { type: 'image/jpeg' })
const draft = (id: string) => ({ type: 'draft' as const, content: 'Made by a client', channelIds: [], mediaIds: [id] })
const print = (post: { id: string; mediaIds: string[]; status: string }) => console.log(JSON.stringify(post))
`
const top = "import { readFile } from 'node:fs/promises'\n"

export const generators: Generator[] = [
  {
    name: '@hey-api/openapi-ts',
    command: ['openapi-ts', '-i', 'openapi.json', '-o', 'made', '-c', '@hey-api/client-fetch', '--silent'],
    program: `${top}import { client } from './made/client.gen'
import { mediaCreate, postsCreate } from './made'
${begin}
client.setConfig({ baseUrl, headers })
const { data: media } = await mediaCreate({ body: { file, alt: 'A lake' }, throwOnError: true })
const { data: post } = await postsCreate({ body: draft(media.id), throwOnError: true })
print(post)
`,
  },
  {
    name: 'openapi-typescript-codegen',
    command: ['openapi', '--input', 'openapi.json', '--output', 'made', '--useOptions'],
    program: `${top}import { MediaService, OpenAPI, PostsService } from './made'
${begin}
Object.assign(OpenAPI, { BASE: baseUrl, HEADERS: headers })
const media = await MediaService.mediaCreate({ formData: { file, alt: 'A lake' } })
print(await PostsService.postsCreate({ requestBody: draft(media.id) }))
`,
  },
  {
    name: 'swagger-typescript-api',
    command: ['swagger-typescript-api', 'generate', '--path', 'openapi.json', '--output', 'made', '--name', 'api.ts'],
    program: `${top}import { Api } from './made/api'
${begin}
const api = new Api({ baseUrl, baseApiParams: { headers } })
const { data: media } = await api.media.mediaCreate({ file, alt: 'A lake' })
const { data: post } = await api.posts.postsCreate(draft(media.id))
print(post)
`,
  },
  {
    name: 'oazapfts',
    command: ['oazapfts', 'openapi.json', 'made/api.ts'],
    program: `${top}import { defaults, mediaCreate, postsCreate } from './made/api'
${begin}
Object.assign(defaults, { baseUrl, headers })
const media = await mediaCreate({ file, alt: 'A lake' })
if (media.status !== 201) throw new Error(media.data.detail)
const post = await postsCreate(draft(media.data.id))
if (post.status !== 201) throw new Error(post.data.detail)
print(post.data)
`,
  },
  {
    name: 'orval',
    command: ['orval', '--config', 'orval.config.cjs'],
    files: {
      'orval.config.cjs': `module.exports = {
  punctual: { input: 'openapi.json', output: { target: 'made/api.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } } },
}`,
    },
    program: `${top}import { mediaCreate, postsCreate } from './made/api'
${begin}
const media = await mediaCreate({ file, alt: 'A lake' }, { headers })
if (media.status !== 201) throw new Error(media.data.detail)
const post = await postsCreate(draft(media.data.id), { headers })
if (post.status !== 201) throw new Error(post.data.detail)
print(post.data)
`,
  },
  {
    name: 'kubb',
    command: ['kubb', 'generate', '--config', 'kubb.config.ts'],
    files: {
      'kubb.config.ts': `import { defineConfig } from '@kubb/core'
import { pluginClient } from '@kubb/plugin-client'
import { pluginOas } from '@kubb/plugin-oas'
import { pluginTs } from '@kubb/plugin-ts'

export default defineConfig({
  root: '.',
  input: { path: 'openapi.json' },
  output: { path: 'made' },
  plugins: [pluginOas(), pluginTs({ output: { path: 'types' } }), pluginClient({ output: { path: 'clients' }, client: 'fetch' })],
})`,
    },
    program: `${top}import { setConfig } from '@kubb/plugin-client/clients/fetch'
import { mediaCreate } from './made/clients/mediaCreate.ts'
import { postsCreate } from './made/clients/postsCreate.ts'
${begin}
setConfig({ baseURL: baseUrl, headers })
const media = await mediaCreate({ file, alt: 'A lake' })
// Its own fetch names no content type.
print(await postsCreate(draft(media.id), undefined, { headers: { 'Content-Type': 'application/json' } }))
`,
  },
]
