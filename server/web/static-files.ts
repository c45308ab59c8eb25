import { existsSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import express from 'express'
import { Failure } from '../errors.ts'
import { codingFor } from '../http/content-coding.ts'
import { stateOf } from '../http/request-state.ts'

const Endings = { br: '.br', gzip: '.gz' }
const OfBuild = { immutable: true, maxAge: '1y', index: false } // a name has a hash of its content

/** The files that pages load, mounted at /build: compressed as server/run/compress-files.ts did it, by Accept-Encoding. */
export function builtFiles(publicDir: string): express.RequestHandler {
  const dir = join(publicDir, 'build')
  const files = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [] // no build: no pages
  const compressedFiles = new Set(files.filter((file) => /\.(br|gz)$/.test(file)).map((file) => `/${file}`))
  const send = express.static(dir, { ...OfBuild, setHeaders: nameCoding })
  return (req, res, next) => {
    if (compressedFiles.has(req.path)) return next(new Failure('not_found')) // not addresses of their own
    const failed = refusal(res, next)
    if (!compressedFiles.has(`${req.path}.gz`) || !['GET', 'HEAD'].includes(req.method)) return send(req, res, failed)
    res.vary('Accept-Encoding')
    const coding = codingFor(req)
    const ending = coding ? Endings[coding] : ''
    if (compressedFiles.has(req.path + ending)) req.url = req.path + ending
    send(req, res, failed)
  }
}

// Express has already set the file's headers, which are wrong for a refusal.
function refusal(res: express.Response, next: express.NextFunction): (error?: unknown) => void {
  return (error) => {
    for (const name of ['Content-Encoding', 'Content-Type', 'ETag', 'Last-Modified']) res.removeHeader(name)
    if (!isOutside(error)) return next(error)
    res.set({ ...error.headers, 'Cache-Control': 'no-store' })
    res.status(416).end()
  }
}

function isOutside(error: unknown): error is { headers: Record<string, string> } {
  return error instanceof Error && 'status' in error && error.status === 416
}

/** All other files of `public/`, such as the icon. */
export function otherFiles(publicDir: string): express.RequestHandler {
  return express.static(publicDir, { maxAge: '1h', index: false, redirect: false, setHeaders: nameStatic })
}

// Each coding is a file of its own with its own size and time, and so has its own ETag.
function nameCoding(res: express.Response, path: string): void {
  nameStatic(res)
  const coding = { '.br': 'br', '.gz': 'gzip' }[extname(path)]
  res.type(extname(coding ? path.slice(0, -3) : path)) // the same for each coding
  if (coding) res.set('Content-Encoding', coding)
}

function nameStatic(res: express.Response): void {
  stateOf(res).route = 'static'
}
