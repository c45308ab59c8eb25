import type { Api } from '../../server/router.ts'

/** A queue, as pages show it. */
export type Queue = Awaited<ReturnType<Api['queues']['get']>>
/** A post that waits in a queue. */
export type Waiting = Awaited<ReturnType<Api['queues']['waiting']>>[number]
/** A waiting post that would get another time. */
export type Move = Awaited<ReturnType<Api['queues']['moves']>>[number]

/** Weekdays at three times, for a queue that begins with one button. */
export const usualTimes = [1, 2, 3, 4, 5].flatMap((weekday) =>
  ['09:00', '13:00', '17:30'].map((time) => ({ weekday, time })),
)

/** A name that no queue has yet: `wanted`, or `wanted` and a number. */
export function freeName(wanted: string, queues: Pick<Queue, 'name'>[]): string {
  const taken = new Set(queues.map(({ name }) => name.toLowerCase()))
  for (let number = 2, name = wanted; ; name = `${wanted} ${number++}`) if (!taken.has(name.toLowerCase())) return name
}
