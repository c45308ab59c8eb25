import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { type core, ZodError } from 'zod'
import { isPassing } from '../db/client.ts'
import { isFileStorageAway } from '../db/files/files.ts'

// Every failure that a caller can cause or meet: tRPC's code (and through it the HTTP status) and the sentence.
const catalogue = {
  invalid_request: ['BAD_REQUEST', 'The request does not have the documented form.'],
  unauthenticated: ['UNAUTHORIZED', 'This takes a credential that works.'],
  wrong_password: ['UNAUTHORIZED', 'E-mail and password do not match an account.'],
  insufficient_scope: ['FORBIDDEN', 'The credential lacks a scope.'],
  organisation_suspended: [
    'FORBIDDEN',
    'The operator of this site has suspended your organisation. It can read, but not make or change posts and files.',
  ],
  role_too_low: ['FORBIDDEN', 'Your role in this organisation does not allow this.'],
  signup_closed: ['FORBIDDEN', 'This installation takes no new accounts by itself. Ask its operator for one.'],
  email_reserved: ['FORBIDDEN', 'This e-mail address is reserved for an operator of the installation.'],
  foreign_origin: ['FORBIDDEN', 'This form was sent from another site.'],
  not_found: ['NOT_FOUND', 'There is no such thing in this organisation.'],
  method_not_allowed: ['METHOD_NOT_SUPPORTED', 'This path does not take that method.'],
  email_taken: ['CONFLICT', 'There is an account with this e-mail address already.'],
  post_already_publishing: ['CONFLICT', 'This post is being sent, or may be out there already.'],
  post_failed: ['CONFLICT', 'This post has failed: retry it or cancel it.'],
  post_needs_review: [
    'CONFLICT',
    'A person must decide on this post first: say whether it is there, send it or cancel it.',
  ],
  post_already_published: ['CONFLICT', 'This post has been published.'],
  post_already_cancelled: ['CONFLICT', 'This post was cancelled.'],
  nothing_to_retry: ['CONFLICT', 'Nothing of this post has failed.'],
  nothing_to_wake: ['CONFLICT', 'This delivery does not wait for a worker.'],
  nothing_to_resolve: ['CONFLICT', 'This delivery does not wait for a decision.'],
  consent_expired: [
    'CONFLICT',
    'This page is too old, was answered already, or belongs to another browser. Begin again from the app.',
  ],
  media_in_use: ['CONFLICT', 'A post that is not out yet, or may be sent again, uses this file.'],
  webhook_off: ['CONFLICT', 'This webhook is switched off. Switch it on first.'],
  too_many_webhooks: ['CONFLICT', 'An organisation has at most 20 webhooks. Delete one first.'],
  idempotency_key_in_use: ['CONFLICT', 'The first request with this Idempotency-Key is still running.'],
  stale_version: ['PRECONDITION_FAILED', 'The post was changed meanwhile.'],
  upload_too_slow: ['TIMEOUT', 'The file did not come in time.'],
  body_too_slow: ['TIMEOUT', 'The request arrived too slowly.'],
  body_too_large: ['PAYLOAD_TOO_LARGE', 'The body is larger than this route takes.'],
  unsupported_media_type: ['UNSUPPORTED_MEDIA_TYPE', 'This route takes another content type.'],
  unprocessable: ['UNPROCESSABLE_CONTENT', 'The request is well formed, but cannot be done as it stands.'],
  idempotency_key_reused: ['UNPROCESSABLE_CONTENT', 'This Idempotency-Key was used with another body.'],
  media_fetch_failed: ['UNPROCESSABLE_CONTENT', 'The media could not be fetched from that URL.'],
  media_not_accepted: ['UNPROCESSABLE_CONTENT', 'This file cannot be used.'],
  storage_full: ['UNPROCESSABLE_CONTENT', 'Your organisation has no storage left for this file.'],
  connect_failed: ['UNPROCESSABLE_CONTENT', 'The channel could not be connected.'],
  rate_limited: ['TOO_MANY_REQUESTS', 'Too many requests.'],
  internal: ['INTERNAL_SERVER_ERROR', 'Something went wrong on our side.'],
  unavailable: ['SERVICE_UNAVAILABLE', 'The service is not available at this moment. Try again shortly.'],
} as const satisfies Record<string, [TRPCError['code'], string]>

export type FailureCode = keyof typeof catalogue

/** One thing wrong with a request: `path` as in `channelIds[0]`, empty for the whole. */
export type Fault = { path: string; code: string; message: string }

/** What a caller sees of any error (RFC 9457), before the door adds its addresses and the request id. */
export type Problem = {
  status: number
  code: FailureCode
  title: string
  detail: string
  errors: Fault[]
  retryAfterSeconds: number | null
}

const FaultsAtMost = 100 // a body of 256 KB can have 100,000 faults, and nobody reads so many

/** A failure of the catalogue. `detail` says more than the catalogue's sentence, `errors` names each thing wrong, up to a hundred. */
export class Failure extends TRPCError {
  readonly failure: FailureCode
  readonly detail: string
  readonly errors: Fault[]
  readonly retryAfterSeconds: number | null

  constructor(
    failure: FailureCode,
    more: { detail?: string; errors?: Fault[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    const [code, sentence] = catalogue[failure]
    super({ code, message: sentence, cause: more.cause })
    this.failure = failure
    this.detail = more.detail ?? sentence
    this.errors = (more.errors ?? []).slice(0, FaultsAtMost)
    this.retryAfterSeconds = more.retryAfterSeconds ?? null
  }
}

/**
 * Whatever was thrown, as its caller may see it: nothing of a stack, an SQL statement or a credential. `detail` names the
 * first of `errors` where nobody said more, because many callers log nothing else.
 */
export function problemFrom(error: unknown): Problem {
  const failure = failureFrom(error)
  return {
    status: getHTTPStatusCodeFromError(failure),
    code: failure.failure,
    title: failure.message,
    detail: failure.detail === failure.message ? (firstProblemOf(failure.errors) ?? failure.detail) : failure.detail,
    errors: failure.errors,
    retryAfterSeconds: failure.retryAfterSeconds,
  }
}

const PathLength = 200

function firstProblemOf([first, ...others]: Fault[]): string | null {
  if (!first) return null
  const problem = first.path ? `${first.path.slice(0, PathLength)}: ${first.message}` : first.message
  if (others.length === 0) return problem
  return others.length + 1 < FaultsAtMost
    ? `${problem} This is 1 of ${others.length + 1} problems.`
    : `${problem} There are ${FaultsAtMost} problems or more.`
}

function failureFrom(error: unknown): Failure {
  if (error instanceof Failure) return error
  const cause = error instanceof TRPCError ? error.cause : error
  if (cause instanceof Failure) return cause
  // tRPC puts the input's ZodError under BAD_REQUEST; one from anywhere else is our own fault.
  if (error instanceof TRPCError && error.code === 'BAD_REQUEST' && cause instanceof ZodError) return formFailure(cause)
  if (mayPass(cause)) return unavailable(cause)
  return new Failure('internal', { cause: error })
}

/** Whether the same call may do better later: the database or the file storage is away, or could not do it now. */
export function mayPass(error: unknown): boolean {
  return isPassing(error) || isFileStorageAway(error)
}

/** What `mayPass`, as the catalogue has it. */
export function unavailable(cause: unknown): Failure {
  return new Failure('unavailable', { retryAfterSeconds: 5, cause })
}

/** Every fault of a form at once. */
function formFailure(error: ZodError): Failure {
  return new Failure('invalid_request', { errors: error.issues.slice(0, FaultsAtMost).flatMap(faultsOf), cause: error })
}

function faultsOf(issue: core.$ZodIssue): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: pathOf([...issue.path, key]),
      code: 'unknown_field',
      message: 'There is no such field.',
    }))
  }
  const code = issue.message === 'Required.' ? 'required' : (formCodes[issue.code] ?? 'invalid')
  return [{ path: pathOf(issue.path), code, message: issue.message }]
}

const formCodes: Partial<Record<string, string>> = {
  invalid_type: 'wrong_type',
  too_big: 'too_big',
  too_small: 'too_small',
}

function pathOf(steps: PropertyKey[]): string {
  return steps.reduce<string>(
    (path, step) => (typeof step === 'number' ? `${path}[${step}]` : path ? `${path}.${String(step)}` : String(step)),
    '',
  )
}
