import { sql } from 'drizzle-orm'
import type { ChannelLimits } from '../../db/schema/channels.ts'
import { isPaused } from './pause.ts'
import { iso } from './post-view.ts'

/** A channel as API callers see it. Its schema is in server/answers.ts. */
export type Channel = {
  id: string
  network: string
  name: string
  handle: string | null
  url: string | null
  picture: string | null
  status: 'ACTIVE' | 'NEEDS_RECONNECT' | 'PAUSED' | 'DISCONNECTED'
  limits: ChannelLimits
  connectedAt: string
}

/** SQL: the status of the channel `c`: its own status, or `paused` if it is active and an operator paused it. */
export const channelStatus = sql`case when c.status = 'active' and ${isPaused} then 'paused' else c.status::text end`

/** SQL: the columns of ChannelRow, of the channel `c`. */
export const channelColumns = sql`c.id, c.network, c.name, c.handle, c.url, c.picture_key, c.status, ${channelStatus} as shown,
  c.limits, c.connected_at, c.created_at`

/** A row of `channels`. `shown` is its channelStatus. Old events do not have it. */
export type ChannelRow = {
  id: string
  network: string
  name: string
  handle: string | null
  url: string | null
  picture_key: string | null
  status: string
  shown?: string
  limits: ChannelLimits
  connected_at: string
  created_at: string
}

export function showChannel(row: ChannelRow, appUrl: string): Channel {
  const { id, network, name, handle, url, limits } = row
  return {
    id,
    network,
    name,
    handle,
    url,
    picture: row.picture_key && `${appUrl}/files/${row.picture_key}`,
    status: (row.shown ?? row.status).toUpperCase() as Channel['status'],
    limits,
    connectedAt: iso(row.connected_at),
  }
}
