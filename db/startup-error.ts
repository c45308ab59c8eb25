import { isDatabaseAway, sqlStateOf } from './client.ts'
import { InstallationError } from './embedded/installation.ts'
import { EnvError } from './env.ts'

/**
 * Why a process cannot start, or a command cannot be done: one sentence where the operator can change it (a setting, a
 * port, the way to the database), else the error with its stack.
 */
export function startupSentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof EnvError || error instanceof InstallationError) return error.message
  const cure = cureFor(error)
  return cure ? `The database cannot be used (${innermost(error).message}): ${cure}` : (error.stack ?? error.message)
}

function cureFor(error: Error): string | null {
  const state = sqlStateOf(error) ?? ''
  if (/^28\w{3}$/.test(state)) return 'correct the user and the password in DATABASE_URL.'
  if (state === '3D000') return 'create it with `createdb`, or correct the name in DATABASE_URL.'
  if (state === '42501') return 'grant its user what is missing, or name another user in DATABASE_URL.'
  if (state === '53300') return 'raise max_connections of PostgreSQL, or lower DATABASE_CONNECTIONS.'
  return isDatabaseAway(error) ? 'start PostgreSQL, or correct DATABASE_URL.' : null
}

// A query's own message is its SQL; what went wrong is its cause. A name with several addresses fails with each.
function innermost(error: Error): Error {
  if (error.cause instanceof Error) return innermost(error.cause)
  return error instanceof AggregateError ? innermost(error.errors[0]) : error
}
