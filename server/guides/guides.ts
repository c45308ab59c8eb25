import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Env } from '../../db/env.ts'
import { type Guide, guideOf } from './markdown.ts'

// Beside the bundles; from source, beside the folder.
const Folder = ['docs', '../../docs'].map((path) => join(import.meta.dirname, path)).find(existsSync)!
const files: Record<string, string> = {
  quickstart: 'api/quickstart.md',
  authentication: 'api/authentication.md',
  posts: 'api/posts.md',
  queues: 'api/queues.md',
  channels: 'api/channels.md',
  media: 'api/media.md',
  limits: 'api/limits.md',
  oauth: 'oauth.md',
}

/**
 * The guides as they are read on this site, with its own addresses for `{base_url}` and `{app_url}`. Each is rendered
 * once. The returned function gives null for an unknown name.
 */
export function openGuides(env: Pick<Env, 'appUrl' | 'baseUrl'>): (name: string) => Promise<Guide | null> {
  const rendered = new Map<string, Promise<Guide>>()
  return async (name) => {
    const file = Object.hasOwn(files, name) ? files[name]! : null
    if (file === null) return null
    const guide = rendered.get(name) ?? readGuide(file, env)
    rendered.set(name, guide)
    guide.catch(() => rendered.delete(name)) // a failure may pass
    return guide
  }
}

async function readGuide(file: string, { appUrl, baseUrl }: Pick<Env, 'appUrl' | 'baseUrl'>): Promise<Guide> {
  const source = await readFile(join(Folder, file), 'utf8')
  return guideOf(source.replaceAll('{app_url}', appUrl).replaceAll('{base_url}', baseUrl))
}
