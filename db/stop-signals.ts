const EchoMs = 1000

/**
 * Call `onStop` whenever somebody asks this process to end (SIGINT or SIGTERM), with how many times they have.
 *
 * npm hands on a Ctrl-C that the terminal has sent to this process as well, so what comes within a second is the same request.
 */
export function onStopSignals(onStop: (times: number, signal: NodeJS.Signals) => Promise<void>): void {
  let times = 0
  let lastAt = Number.NEGATIVE_INFINITY
  const onSignal = (signal: NodeJS.Signals) => {
    const isEcho = performance.now() - lastAt < EchoMs
    if (isEcho) return
    lastAt = performance.now()
    times += 1
    void onStop(times, signal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
}
