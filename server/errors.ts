import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { type core, ZodError } from 'zod'
import { isPassing } from '../db/client.ts'
import { isFileStorageAway } from '../db/files/files.ts'
import { type FailureCode, type FaultCode, failures } from './error-catalogue.ts'

/** One thing wrong with a request: `path` as in `channelIds[0]`, empty for the whole. */
export type Fault = { path: string; code: string; message: string }

/** A fault that the catalogue knows. */
export type KnownFault = Fault & { code: FaultCode }

/** What a caller sees of any error (RFC 9457), before the door adds its addresses and the request id. */
export type Problem = {
  status: number
  code: FailureCode
  title: string
  detail: string
  errors: Fault[]
  retryAfterSeconds: number | null
}

const FaultsAtMost = 100 // a body of 256 KB can have 100,000 faults: too many to read

/** A failure of the catalogue. `detail` says more than the catalogue's sentence, `errors` names each thing wrong, up to a hundred. */
export class Failure extends TRPCError {
  readonly failure: FailureCode
  readonly detail: string
  readonly errors: Fault[]
  readonly retryAfterSeconds: number | null

  constructor(
    failure: FailureCode,
    more: { detail?: string; errors?: KnownFault[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    const { status, sentence } = failures[failure]
    super({ code: status, message: sentence, cause: more.cause })
    this.failure = failure
    this.detail = more.detail ?? sentence
    this.errors = (more.errors ?? []).slice(0, FaultsAtMost)
    this.retryAfterSeconds = more.retryAfterSeconds ?? null
  }
}

/**
 * Any error as its caller may see it: without a stack, an SQL statement or a credential. `detail` names the
 * first of `errors` if it would say nothing more, because many callers log only `detail`.
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

/** Whether the same call may succeed later: the database or the file storage cannot be reached, or is overloaded. */
export function mayPass(error: unknown): boolean {
  return isPassing(error) || isFileStorageAway(error)
}

/** The failure for an error that `mayPass`. */
export function unavailable(cause: unknown): Failure {
  return new Failure('unavailable', { retryAfterSeconds: 5, cause })
}

/** Every fault of a form at once. */
function formFailure(error: ZodError): Failure {
  return new Failure('invalid_request', { errors: error.issues.slice(0, FaultsAtMost).flatMap(faultsOf), cause: error })
}

function faultsOf(issue: core.$ZodIssue): KnownFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: pathOf([...issue.path, key]),
      code: 'unknown_field',
      message: issue.message,
    }))
  }
  const code = issue.message === 'Required.' ? 'required' : (formCodes[issue.code] ?? 'invalid')
  return [{ path: pathOf(issue.path), code, message: issue.message }]
}

const formCodes: Partial<Record<string, FaultCode>> = {
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
