import type { ChannelLimits } from '../db/schema.ts'
import { iso } from './post-view.ts'

/** What callers see of a channel (API.md §3). The schema of it is in server/answers.ts. */
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

/** A row of `channels`. */
export type ChannelRow = {
  id: string
  network: string
  name: string
  handle: string | null
  url: string | null
  picture_key: string | null
  status: string
  limits: ChannelLimits
  connected_at: string
  created_at: string
}

export function showChannel(row: ChannelRow, appUrl: string): Channel {
  const { id, network, name, handle, url, limits } = row
  return {
    ...{ id, network, name, handle, url },
    picture: row.picture_key && `${appUrl}/files/${row.picture_key}`,
    status: row.status.toUpperCase() as Channel['status'],
    limits,
    connectedAt: iso(row.connected_at),
  }
}
