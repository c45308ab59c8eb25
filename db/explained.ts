import { isDatabaseAway, sqlStateOf } from './client.ts'
import { InstallationError } from './embedded.ts'
import { EnvError } from './env.ts'

const Refused = /^(28\w{3}|3D000|42501)$/ // the password, the database's name, what its user may

/**
 * Why a process cannot start, or a command cannot be done: one sentence where it is the operator's to mend (a setting, a
 * port, the way to the database), else the error with its stack.
 */
export function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof EnvError || error instanceof InstallationError) return error.message
  if ('code' in error && error.code === 'EADDRINUSE') return error.message
  if (isDatabaseAway(error) || Refused.test(sqlStateOf(error) ?? ''))
    return `The database cannot be used: ${innermost(error).message}`
  return error.stack ?? error.message
}

// A query's own message is its SQL; what went wrong is its cause. A name with several addresses fails with each.
function innermost(error: Error): Error {
  if (error.cause instanceof Error) return innermost(error.cause)
  return error instanceof AggregateError ? innermost(error.errors[0]) : error
}
