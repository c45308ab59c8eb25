import { pipeline } from 'node:stream/promises'
import type express from 'express'
import { FileNotFound, type Files, type Range } from '../../db/files/files.ts'
import type { MemberActor } from '../access/credentials.ts'
import { type Installation, requireScope } from '../access/trpc.ts'
import { Failure, problemFrom } from '../errors.ts'
import { addressOf } from '../http/client-address.ts'
import { untilGone } from '../http/leaving.ts'
import { discardRest } from '../http/request-body.ts'
import { receiveFile, UploadPace } from '../media/receive-file.ts'
import { beginUpload } from '../media/uploads.ts'
import { apiFor } from '../router.ts'

type Response = express.Response

const types: Record<string, string> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
}

/**
 * Send the stored file that the path names, to anybody: all of it, or one requested range (RFC 9110 §14).
 *
 * The type is the stored one, and the file may run no scripts: people's files are not our pages.
 */
export async function sendFile({ files }: { files: Files }, req: express.Request, res: Response): Promise<void> {
  const key = req.params.key ?? ''
  const extension = /^[0-9a-f]{32}\.(\w+)$/.exec(key)?.[1] ?? ''
  const type = Object.hasOwn(types, extension) ? types[extension] : null // or __proto__ would be one
  if (!type || req.path.endsWith('/')) return sendNothing(res)
  const signal = untilGone(req, res)
  try {
    await answerWith(files, { key, type }, req, res, signal)
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof FileNotFound)) throw error
    sendNothing(res)
  }
}

async function answerWith(
  files: Files,
  { key, type }: { key: string; type: string },
  req: express.Request,
  res: Response,
  signal: AbortSignal,
): Promise<void> {
  const bytes = await files.bytesOf(key)
  signal.throwIfAborted()
  const range = rangeOf(req, bytes)
  if (range === 'outside') return void res.status(416).set('Content-Range', `bytes */${bytes}`).end()
  const stream = req.method === 'HEAD' ? null : await files.read(key, range ?? undefined, signal)
  try {
    signal.throwIfAborted()
    res.set({
      'Content-Type': type,
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'public, max-age=31536000, immutable', // the content of a key never changes
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cross-Origin-Resource-Policy': 'cross-origin', // feeds and networks show it elsewhere
      'Content-Length': String(range ? range.end - range.start + 1 : bytes),
    })
    if (range) res.status(206).set('Content-Range', `bytes ${range.start}-${range.end}/${bytes}`)
    if (!stream) return void res.end()
    await pipeline(stream, res, { signal })
  } finally {
    stream?.destroy()
  }
}

function sendNothing(res: Response): void {
  res.status(404).type('text').send('File not found.\n')
}

// Null: the whole file. Several ranges, other units and invalid ranges are ignored, as RFC 9110 §14.2 allows; so is a
// range with If-Range, since there is no validator that it could name.
function rangeOf(req: express.Request, bytes: number): Range | 'outside' | null {
  const asked = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(req.headers.range ?? '')
  if (!asked || req.method !== 'GET' || req.headers['if-range'] !== undefined) return null
  const [first, last] = [asked[1]!, asked[2]!]
  if (first === '' && last === '') return null
  const start = first === '' ? Math.max(bytes - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(last) < start) return null
  return start > end ? 'outside' : { start, end }
}

/** Receive one file of the composer (multipart, `file`). Answers `{ media }`, or `{ problem }` with a sentence for the person. */
export async function takeFile(
  installation: Installation,
  member: MemberActor | null,
  req: express.Request,
  res: Response,
): Promise<void> {
  res.set('Cache-Control', 'no-store')
  try {
    if (!member)
      throw new Failure('unauthenticated', { detail: 'You are signed out. Sign in in another tab, and try again.' })
    requireScope(member, 'media:write') // before anything is received
    requireMeantOrganisation(member, req)
    const gone = untilGone(req, res)
    await using upload = beginUpload(installation, member.organisationId)
    await using file = await receiveFile(installation.files, req, UploadPace, upload.reserve)
    const context = { ...installation, actor: member, log: req.log, address: addressOf(req), idempotency: null, upload }
    const api = apiFor(context)
    const media = await api.media.create({ alt: '', ...(file.value as { path: string }) })
    if (gone.aborted) await api.media.remove({ id: media.id }) // cancelled: no page has its id
    res.json({ media })
  } catch (error) {
    const { status, detail, retryAfterSeconds } = problemFrom(error)
    if (status >= 500) req.log.error({ err: error }, 'request failed')
    if (retryAfterSeconds !== null) res.set('Retry-After', String(retryAfterSeconds))
    if (!req.complete) discardRest(req)
    res.status(status).json({ problem: detail })
  }
}

// Another tab may have switched the organisation: the file would be kept where its post is not (formOf in app/api.ts).
function requireMeantOrganisation({ organisationId }: MemberActor, req: express.Request): void {
  const meant = req.get('For-Organisation')
  if (meant === undefined || meant === organisationId) return
  const detail = 'You switched to another organisation in another tab. Switch back, then try again.'
  throw new Failure('stale_version', { detail })
}
