import type { Db } from '../../db/client.ts'
import { bluesky } from './bluesky/bluesky.ts'
import { feed } from './feed/feed.ts'
import { mastodon } from './mastodon/mastodon.ts'
import type { Network } from './network.ts'

/** The networks by the name in a channel's row. */
export type Networks = Record<string, Network>

/** Every network that this installation offers. `appUrl` and `plcUrl` are origins. */
export function networks({ db, appUrl, plcUrl }: { db: Db; appUrl: string; plcUrl: string }): Networks {
  return {
    feed: feed({ db, appUrl }),
    mastodon,
    bluesky: bluesky(plcUrl),
  }
}
