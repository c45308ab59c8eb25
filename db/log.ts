import { type Logger, pino, stdSerializers } from 'pino'

/**
 * A process's log: JSON lines on standard output, `process` naming it in each.
 *
 * A failed query's message ends in its parameters: password hashes, addresses, whole posts. They are cut from errors.
 */
export function createLog(name: string, level: string): Logger {
  return pino({ level, base: { process: name }, serializers: { err: withoutParameters } })
}

/** An error for the log, without the parameters of the query that failed, in its causes as well. */
export function withoutParameters(error: unknown): unknown {
  return cut(error instanceof Error ? stdSerializers.err(error) : error) // pino-http gives what it has serialised itself
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\nparams: [\s\S]*?(?=\n {4}at |\ncaused by: |$)/g, '')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(
    ([name]) => !['params', 'parameters', 'args', 'raw', 'detail'].includes(name),
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, cut(member)]))
}
