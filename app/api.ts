import type { SubmissionResult } from '@conform-to/react'
import { parseWithZod } from '@conform-to/zod/v4'
import { json, redirect, type TypedResponse } from '@remix-run/node'
import type { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { z } from 'zod'
import type { Role } from '../db/schema/accounts.ts'
import type { Channel } from '../jobs/ledger/channel-view.ts'
import type { NewSession } from '../server/accounts/sessions.ts'
import type { Fault } from '../server/errors.ts'
import type { Guide } from '../server/guides/markdown.ts'
import type { Reference } from '../server/rest/reference.ts'
import type { Api } from '../server/router.ts'

/** The person who is signed in. */
export type Member = {
  id: string
  name: string
  email: string
  timeZone: string // IANA name
  weekStart: number | null // 1 is Monday; null: by the browser's language
  clock: number | null // 12 or 24 hours; null: by the browser's language
  organisationId: string
  role: Role
}

/** What server/web/pages.ts gives to every loader and action. */
export type LoadContext = {
  api: Api
  member: Member | null
  query: string // of the URL, byte for byte, without its `?`: Remix rewrites request.url
  nonce: string
  requestId: string
  appUrl: string
  baseUrl: string
  signupOpen: boolean
  sendsMail: boolean
  session: { start(session: NewSession): Headers; end(): string } // headers that set the cookies; a value of Set-Cookie
  form(): FormData // read by server/web/page-form.ts; the request itself has no body. Throws why it was refused
  upload: { name: string; path: string } | null // the file of the form, by its field; removed after the answer
  reference(): Reference // of the public API, for its documentation
  guide(name: string): Promise<Guide | null> // a page of the documentation, with this site's addresses
  report(error: unknown): void // to the log, with the request's id
}

declare module '@remix-run/server-runtime' {
  interface AppLoadContext extends LoadContext {}
}

type PageRequest = { request: Request; context: LoadContext }

const BackLength = 4000 // browsers and proxies refuse a longer Location header

/** The API and the signed-in person. Throws a redirect to the sign-in page, which leads back here. */
export function signedIn({ request, context: { api, member } }: PageRequest): { api: Api; member: Member } {
  if (member) return { api, member }
  const { pathname, search } = new URL(request.url)
  const back = searchFor(pathname + search)
  throw redirect(`/login${back.length > BackLength ? '' : back}`)
}

/** Every channel of the organisation with this status; without a status, all that are not disconnected. */
export async function allChannels(api: Api, status?: Channel['status']): Promise<Channel[]> {
  const all: Channel[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await api.channels.list({ limit: 100, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) })
    all.push(...page.data)
    cursor = page.nextCursor
  }
  return all
}

/** Where to go after signing in: `next` if it is a path of this site, else `/`. */
export function localPath(next: unknown): string {
  if (typeof next !== 'string' || !/^[!-~]+$/.test(next)) return '/' // what no header can carry
  const [path = ''] = next.split('?')
  const isOurs = /^\/(?!\/)[^\\#]*$/.test(path) && !/%([01][\da-f]|7f)/i.test(path) // control characters are in no path
  return isOurs ? next : '/'
}

/** `?next=…` for the pages /login and /signup; empty when `next` is `/`. */
export function searchFor(next: string): string {
  return next === '/' ? '' : `?next=${encodeURIComponent(next)}`
}

const otherOrganisation =
  'You switched to another organisation in another tab. Nothing was changed. Switch back, then try again.'
const unreadableLink = "We couldn't read this link."

export type Problem = { status: number; detail: string; errors: Fault[]; headers: Record<string, string> }

/**
 * What a page shows of a failure that a procedure threw: the HTTP status with its headers, the sentence, and each error
 * with its path. Recognised by its shape, because the class is in another module graph. Rethrows everything else.
 */
export function problemOf(error: unknown): Problem {
  if (isFailure(error)) {
    const { detail, errors, retryAfterSeconds } = error
    const headers: Problem['headers'] = retryAfterSeconds === null ? {} : { 'Retry-After': String(retryAfterSeconds) }
    const status = getHTTPStatusCodeFromError(error)
    // The catalogue's own sentence about a request speaks to programmers.
    const isOfLink = status === 400 && errors.length > 0 && detail === error.message
    return { status, detail: isOfLink ? unreadableLink : detail, errors, headers }
  }
  if (isRefusedInput(error)) {
    const errors = error.cause.issues.map(({ path, code, message }) => ({ path: nameOf(path), code, message }))
    return { status: 400, detail: unreadableLink, errors, headers: {} }
  }
  throw error
}

/**
 * The form that was sent to a page. Throws the error page when it was refused, or when it was written for another
 * organisation than the one that the person works for now (app/shell/post-form.tsx).
 */
export function formOf({ form, member }: LoadContext): FormData {
  const fields = readable(form)
  const meant = fields.get('forOrganisation')
  fields.delete('forOrganisation')
  if (meant !== null && member && meant !== member.organisationId) throw json({ detail: otherOrganisation }, 409)
  return fields
}

function readable(form: LoadContext['form']): FormData {
  try {
    return form()
  } catch (error) {
    const { detail, status, headers } = problemOf(error)
    throw json({ detail }, { status, headers })
  }
}

/** Wait for what a page shows. A failure of the catalogue becomes the error page of its status. */
export async function shown<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    const { detail, status, headers } = problemOf(error)
    throw json({ detail }, { status, headers })
  }
}

/** What an action answers to the form named `intent`: its errors, or in `said` what was done. */
export type Answer = { intent: string; result: SubmissionResult<string[]>; said?: string; saved?: object | undefined }

/**
 * Parse a form with a procedure's own schema and call `does` with it. Answers the form again with each error beside its
 * field, or with the sentence in `said`, or with the response that `does` returned. The field `intent` tells a page's
 * forms apart, and `began` what a form began with (app/ui/forms/began.tsx): `saved` are the values that it has now.
 */
export async function answer<Schema extends z.ZodType, Made extends Response>(
  form: FormData,
  schema: Schema,
  does: (value: z.output<Schema>, began: Began) => Promise<Made | Done>,
): Promise<TypedResponse<Answer> | Made> {
  const intent = String(form.get('intent') ?? '')
  const began = beganIn(form)
  form.delete('intent')
  const submission = parseWithZod(form, { schema })
  const hideFields = [...form.keys()].filter((name) => /password|current/i.test(name)) // never sent back
  if (submission.status !== 'success') return json({ intent, result: submission.reply({ hideFields }) }, 400)
  try {
    const made = await does(submission.value, began)
    if (made instanceof Response) return made
    const { said, saved, headers, reset = false } = made
    return json({ intent, said, saved, result: submission.reply({ resetForm: reset }) }, headers ? { headers } : {})
  } catch (error) {
    const { status, detail, errors, headers } = problemOf(error)
    const result = submission.reply({ ...besideFields(form, detail, errors), hideFields })
    return json({ intent, result }, { status, headers })
  }
}

type Done = { said: string; saved?: object; reset?: boolean; headers?: Headers }
type Began = Record<string, unknown>

function beganIn(form: FormData): Began {
  const field = form.get('began')
  form.delete('began')
  try {
    return Object(JSON.parse(String(field)))
  } catch {
    return {} // a form that says nothing about it
  }
}

/**
 * The values to save of a form that `began` with others: what the person changed, and `now` for the rest, because
 * somebody else may have changed that meanwhile. In a list, what was added and what was removed counts.
 */
export function withOthers<T extends object>(typed: T, began: Began, now: { [K in keyof T]?: unknown }): T {
  const merged = Object.entries(typed).map(([name, value]) => [
    name,
    mergedValue(value, began[name], now[name as keyof T]),
  ])
  return Object.fromEntries(merged) as T
}

function mergedValue(typed: unknown, began: unknown, now: unknown): unknown {
  if (began === undefined || now === undefined) return typed
  if (!Array.isArray(typed) || !Array.isArray(began) || !Array.isArray(now)) return typed === began ? now : typed
  const kept = now.filter((one) => typed.includes(one) || !began.includes(one))
  return [...kept, ...typed.filter((one) => !began.includes(one) && !kept.includes(one))]
}

function besideFields(form: FormData, detail: string, errors: Fault[]) {
  const fieldErrors: Record<string, string[]> = {}
  const formErrors = errors.length === 0 ? [detail] : []
  for (const { path, message } of errors) {
    if (form.has(path)) fieldErrors[path] = [...(fieldErrors[path] ?? []), message]
    else formErrors.push(message)
  }
  return { fieldErrors, ...(formErrors.length > 0 ? { formErrors } : {}) }
}

type Failure = { detail: string; errors: Fault[]; retryAfterSeconds: number | null }

function isFailure(error: unknown): error is TRPCError & Failure {
  return error instanceof Error && 'failure' in error && 'code' in error && 'detail' in error && 'errors' in error
}

type Issue = { path: PropertyKey[]; code: string; message: string }

function isRefusedInput(error: unknown): error is Error & { cause: { issues: Issue[] } } {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'BAD_REQUEST') return false
  return error.cause instanceof Error && 'issues' in error.cause
}

function nameOf(path: PropertyKey[]): string {
  return path.reduce<string>(
    (name, step) => (typeof step === 'number' ? `${name}[${step}]` : name ? `${name}.${String(step)}` : String(step)),
    '',
  )
}
