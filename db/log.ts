import { type Logger, pino, stdSerializers } from 'pino'
import { LogSink } from './log-sink.ts'

let sink: LogSink | null = null

/**
 * A process's log: JSON lines on standard output. `process` in each line names the process. A full disk, a closed pipe
 * or a reader that does not read can lose lines, but cannot end the process (db/log-sink.ts).
 *
 * The message of a failed query ends with its parameters: password hashes, addresses, posts. We cut them from errors.
 */
export function createLog(name: string, level: string): Logger {
  const options = { level, base: { process: name }, serializers: { err: withoutParameters } }
  sink ??= new LogSink(1, (dropped, reason) => log.warn({ dropped, reason }, 'log lines were dropped'))
  const log = pino(options, sink)
  for (const stream of [process.stdout, process.stderr]) heed(stream) // libraries print too
  return log
}

/** How many lines of this process's log were dropped. */
export function droppedLines(): number {
  return sink?.dropped ?? 0
}

/** Print a line for the person who started this process. A closed stream does not end the process. */
export function print(line: string, stream: NodeJS.WriteStream = process.stdout): void {
  heed(stream)
  try {
    stream.write(`${line}\n`)
  } catch {} // a file on a full disk
}

// An error event without a listener ends the process.
function heed(stream: NodeJS.WriteStream): void {
  if (stream.listenerCount('error') === 0) stream.on('error', () => {})
}

/** An error for the log without the parameters of failed queries, including in its causes. */
export function withoutParameters(error: unknown): unknown {
  return cut(error instanceof Error ? stdSerializers.err(error) : error) // pino-http has serialised its errors
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\nparams: [\s\S]*?(?=\n {4}at |\ncaused by: |$)/g, '')
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(
    ([name]) => !['params', 'parameters', 'args', 'raw', 'detail'].includes(name),
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, cut(member)]))
}
