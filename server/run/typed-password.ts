import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Failure } from '../errors.ts'

/**
 * The password for a command: from standard input, without its last line break, or typed at a terminal, which does not show it.
 * An argument is visible in the list of processes, so it is only for trying things out. Throws `invalid_request` when there is none.
 */
export async function typedPassword(given: { password?: string; passwordStdin?: boolean }): Promise<string> {
  if (given.password !== undefined && given.passwordStdin)
    throw new Failure('invalid_request', { detail: 'Use --password-stdin or --password, not both.' })
  if (given.password !== undefined) return given.password
  const typed = process.stdin.isTTY && !given.passwordStdin ? await prompt() : await text(process.stdin)
  const password = typed.replace(/\r?\n$/, '')
  if (password) return password
  throw new Failure('invalid_request', {
    detail: 'Pass the password on standard input, or run the command at a terminal and type it.',
  })
}

async function prompt(): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  lines.once('SIGINT', () => {
    lines.close()
    process.exit(130)
  })
  process.stderr.write('Password: ')
  try {
    return await lines.question('')
  } catch (error) {
    if ((error as Error).name === 'AbortError') return '' // Ctrl-D
    throw error
  } finally {
    process.stderr.write('\n')
    lines.close()
  }
}
