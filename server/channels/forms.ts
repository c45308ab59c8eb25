import { z } from 'zod'
import { cursor, Id, limit, text } from '../forms.ts'

export const channelStatuses = ['ACTIVE', 'NEEDS_RECONNECT', 'PAUSED', 'DISCONNECTED'] as const
export const ListChannels = z.strictObject({
  network: text(50).optional(),
  status: z.enum(channelStatuses).optional(),
  limit,
  cursor,
})
export const ConnectChannel = z.strictObject({
  network: z.string().max(50),
  channelId: Id.optional(), // reconnect this one
  input: z.record(z.string().max(50), text(2000)),
})
/** What a consent page sent back: see ConsentAnswer of jobs/networks/network.ts. */
export const FinishConnect = z.strictObject({
  state: z.string().max(500),
  server: z.string().max(500).optional(),
  code: z.string().max(5000).optional(),
  error: z.string().max(500).optional(),
  iss: z.string().max(2000).optional(),
})
export const Disconnect = z.strictObject({ id: Id, unsent: z.enum(['cancel', 'hold']) })
