import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Logger } from 'pino'

/** A process that is kept running until `stop`. */
export type Child = { stop(): Promise<void>; kill(): void }

const EndWithParent = join(import.meta.dirname, 'end-with-parent.js') // beside this one, from source and from build/ alike
const FirstPauseMs = 1000
const LongestPauseMs = 30_000
const StopMs = 60_000 // a send that is under way has at most 30 s

/**
 * Run node with `args`, and restart it after 1, 2, 4 … 30 s when it ends unexpectedly.
 *
 * `stop` sends SIGTERM and waits, with SIGKILL after a minute; `kill` sends SIGKILL at once. When this process is
 * itself killed, the child still gets its SIGTERM.
 */
export function keepRunning(name: string, args: string[], variables: NodeJS.ProcessEnv, log: Logger): Child {
  let stopping = false
  let pauseMs = FirstPauseMs
  let pause: NodeJS.Timeout | undefined
  let child = start()
  return { stop, kill: () => child.kill('SIGKILL') }

  function start(): ChildProcess {
    const startedAt = performance.now()
    const started = spawn(process.execPath, ['--import', EndWithParent, ...args], {
      env: variables,
      detached: true, // a Ctrl-C in the terminal is for us: we stop things in their order
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    started.once('exit', (code, signal) => {
      if (stopping) return
      if (performance.now() - startedAt > LongestPauseMs) pauseMs = FirstPauseMs
      log.error({ code, signal }, `the ${name} process ended; it is started again in ${pauseMs / 1000} s`)
      pause = setTimeout(() => (child = start()), pauseMs)
      pauseMs = Math.min(2 * pauseMs, LongestPauseMs)
    })
    return started
  }

  async function stop(): Promise<void> {
    stopping = true
    clearTimeout(pause)
    if (child.exitCode !== null || child.signalCode !== null) return
    const killTimer = setTimeout(() => child.kill('SIGKILL'), StopMs)
    child.kill('SIGTERM')
    await once(child, 'exit')
    clearTimeout(killTimer)
  }
}
