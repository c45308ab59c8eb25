import { readFileSync } from 'node:fs'
import type { Started } from '../processes.ts'

const TickMs = 10 // of Linux's /proc, whatever the kernel's own is

/** The processor time that a process has used so far, in all its threads, in ms. */
function processorMsOf({ pid }: Pick<Started, 'pid'>): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (.*)/s) // its name may hold spaces
  const [user, system] = fields.split(' ').slice(11, 13)
  return (Number(user) + Number(system)) * TickMs
}

/** What `work` costs a process in processor time, in ms, and what it came to. */
export async function costOf<T>(started: Pick<Started, 'pid'>, work: () => Promise<T>): Promise<[number, T]> {
  const before = processorMsOf(started)
  const came = await work()
  return [processorMsOf(started) - before, came]
}
