import type { Times } from '../durations.ts'

/** How long to wait after `step` waits, in ms: 30 s, 1, 2, 5, 15, 30 min, then hourly, each ± 20 %. */
export function backoff({ backoffMs }: Times, step: number): number {
  const ms = backoffMs[Math.min(step, backoffMs.length - 1)]!
  return ms * (0.8 + 0.4 * Math.random())
}
