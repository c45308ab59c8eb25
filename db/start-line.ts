import type { Logger } from 'pino'
import { misspeltSettings } from './env.ts'
import { version } from './program-version.ts'

/** The first lines of a process's log: which version it is, and each variable that looks like a setting and is none. */
export function announceStart(log: Logger): void {
  log.info({ version, node: process.version }, `${log.bindings().process} starts`)
  for (const sentence of misspeltSettings()) log.warn(sentence)
}
