import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { AppBskyRichtextFacet } from '@atproto/api'
import sharp from 'sharp'
import { z } from 'zod'
import type { Answer } from '../../outbound/outbound.ts'
import { type Content, type PostMedia, PublishError } from '../network.ts'
import { readAs } from '../verdict.ts'
import type { Method } from './xrpc.ts'

export const PostCollection = 'app.bsky.feed.post'

// app.bsky.embed.images: uploadBlob accepts larger images, but then the record is refused.
const ImageBytes = 2_000_000
const SidesInPixels = [2000, 1600, 1200, 800, 400]
const ShownAsTheyAre = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif'])
const UploadTimeoutMs = 120_000

const Uploaded = z.object({ blob: z.record(z.string(), z.unknown()) })
const Resolved = z.object({ did: z.string() })

/** Calls the account's PDS as the account; throws PublishError unless it answers with success. */
type Ask = (method: Method) => Promise<Answer>

/** Upload the images and build the record, which then stays fixed. https://docs.bsky.app/docs/advanced-guides/posts */
export async function postRecord({ text, media }: Content, ask: Ask): Promise<Record<string, unknown>> {
  const images: unknown[] = []
  for (const file of media) images.push(await uploadImage(file, ask))
  const facets = await facetsOf(text, ask)
  return {
    $type: PostCollection,
    text,
    createdAt: new Date().toISOString(),
    ...(facets.length > 0 ? { facets } : {}),
    ...(images.length > 0 ? { embed: { $type: 'app.bsky.embed.images', images } } : {}),
  }
}

async function uploadImage(file: PostMedia, ask: Ask): Promise<unknown> {
  if (!file.mime.startsWith('image/')) {
    throw new PublishError('refused', `We can't publish ${file.mime} files on Bluesky.`, {
      code: 'media_not_supported',
    })
  }
  const { body, mime, width, height } = await fitted(file)
  const post = { body, mime }
  const answer = await ask({ nsid: 'com.atproto.repo.uploadBlob', post, timeoutMs: UploadTimeoutMs })
  const { blob } = readAs(Uploaded, answer, { network: 'Bluesky', secrets: [] })
  return { image: blob, alt: file.alt, aspectRatio: { width, height } }
}

async function fitted(file: PostMedia) {
  const original = await file.read()
  const { autoOrient } = await sharp(original).metadata()
  if (ShownAsTheyAre.has(file.mime) && original.length <= ImageBytes) {
    return { body: original, mime: file.mime, ...autoOrient }
  }
  for (const side of SidesInPixels) {
    const { data, info } = await sharp(original)
      .autoOrient()
      .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: 'white' })
      .jpeg({ quality: 85 })
      .toBuffer({ resolveWithObject: true })
    if (data.length <= ImageBytes) return { body: data, mime: 'image/jpeg', width: info.width, height: info.height }
  }
  throw new PublishError('refused', "We couldn't make this image small enough for Bluesky.", {
    code: 'media_not_supported',
  })
}

/** Links, hashtags and mentions, with positions in UTF-8 bytes. A mention of an unknown handle stays plain text. */
async function facetsOf(text: string, ask: Ask) {
  const facets = []
  for (const { index, features } of await detected(text)) {
    const resolved = []
    for (const feature of features) {
      if (feature.$type !== 'app.bsky.richtext.facet#mention') resolved.push(feature)
      else {
        const did = await didOf(String((feature as { did: unknown }).did), ask) // `did` is still the handle here
        if (did) resolved.push({ ...feature, did })
      }
    }
    if (resolved.length > 0) facets.push({ index, features: resolved })
  }
  return facets
}

// We load only two modules of @atproto/api, when the first post is prepared. The whole package takes 45 MB, and up to
// 1.7 s in which the process sends nothing else.
async function detected(text: string): Promise<AppBskyRichtextFacet.Main[]> {
  const whole = pathToFileURL(createRequire(import.meta.url).resolve('@atproto/api'))
  const { UnicodeString } = await import(new URL('rich-text/unicode.js', whole).href)
  const { detectFacets } = await import(new URL('rich-text/detection.js', whole).href)
  const facets: AppBskyRichtextFacet.Main[] = detectFacets(new UnicodeString(text)) ?? []
  return facets.sort((a, b) => a.index.byteStart - b.index.byteStart)
}

async function didOf(handle: string, ask: Ask): Promise<string | null> {
  try {
    const answer = await ask({ nsid: 'com.atproto.identity.resolveHandle', query: { handle } })
    return readAs(Resolved, answer, { network: 'Bluesky', secrets: [] }).did
  } catch (error) {
    if (error instanceof PublishError && error.verdict === 'refused') return null
    throw error
  }
}
