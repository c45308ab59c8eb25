import { expect } from 'vitest'
import type { Answer, Web } from '../web.ts'

type WithChannel = Pick<Web, 'call'> & { channelId: string }

/** 168 weekly times: each hour of each day. */
export const everyHour = [1, 2, 3, 4, 5, 6, 7].flatMap((weekday) =>
  Array.from({ length: 24 }, (_, hour) => ({ weekday, time: `${String(hour).padStart(2, '0')}:00` })),
)

/** A new queue of the API's organisation, with a time each hour unless `wanted` says otherwise. */
export async function aQueue(w: WithChannel, wanted: object = {}) {
  const json = { name: 'Main', timeZone: 'UTC', times: everyHour, channelIds: [w.channelId], ...wanted }
  const answer = await w.call('POST', '/queues', { json })
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

/** A request that puts a post into a queue. */
export function inQueue(wanted: { channelIds: string[]; [field: string]: unknown }) {
  return { type: 'queue', content: 'hello', ...wanted }
}

/** Put a post on the channel into a queue: the default one unless `wanted` names another. */
export function queuePost(w: WithChannel, wanted: object = {}): Promise<Answer> {
  return w.call('POST', '/posts', { json: inQueue({ channelIds: [w.channelId], ...wanted }) })
}
