import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { webhooks } from '../../../db/schema/webhooks.ts'
import { type Started, startWorker } from '../../processes.ts'
import { openWeb, type Web } from '../../server/web.ts'
import { startReceiver } from '../../stand-ins/receiver.ts'

/** A web process and a receiver, with the helpers that webhook tests share. Each test begins without webhooks and
 * workers. */
export function webWithReceiver() {
  const running: Started[] = []
  const own = { w: {} as Web, receiver: {} as Awaited<ReturnType<typeof startReceiver>> }
  beforeAll(async () => {
    own.w = await openWeb()
    own.receiver = await startReceiver()
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((worker) => worker.stop()))
    await own.w.db.delete(webhooks)
    own.receiver.reset()
  })
  afterAll(async () => {
    await own.receiver.end()
    await own.w.end()
  })
  return Object.assign(own, {
    async worker(options: Parameters<typeof startWorker>[1] = {}) {
      const worker = await startWorker(own.w.site, options)
      running.push(worker)
      return worker
    },
    async webhook(wanted: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
      const made = await own.w.call('POST', '/webhooks', { json: { url: own.receiver.url, ...wanted } })
      expect(made.status).toBe(201)
      return made.json
    },
    async post(more: Record<string, unknown> = {}) {
      const json = { type: 'now', content: 'hello', channelIds: [await own.w.channel()], ...more }
      const made = await own.w.call('POST', '/posts', { json })
      expect(made.status).toBe(201)
      return made.json
    },
    /** The calls to a webhook, newest first. */
    log: async (id: string) => (await own.w.call('GET', `/webhooks/${id}/deliveries`)).json.data,
  })
}
