import type { Db } from '../../db/client.ts'
import { bluesky } from './bluesky/bluesky.ts'
import { feed } from './feed/feed.ts'
import { mastodon } from './mastodon/mastodon.ts'
import type { Network } from './network.ts'

/** By the name that a channel's row carries. */
export type Networks = Record<string, Network>

/** Every network that this installation offers. `appUrl` and `plcUrl` are origins. */
export function networks({ db, appUrl, plcUrl }: { db: Db; appUrl: string; plcUrl: string }): Networks {
  return {
    feed: feed({ db, appUrl }),
    mastodon,
    bluesky: bluesky(plcUrl),
  }
}
