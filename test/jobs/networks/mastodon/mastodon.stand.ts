import { randomUUID } from 'node:crypto'
import { mastodon } from '../../../../jobs/networks/mastodon/mastodon.ts'
import { type Publication, type Session, Unclear } from '../../../../jobs/networks/network.ts'
import { type HttpStand, outboundToLoopback } from '../http-contract.ts'
import { type FakeMastodon, fakeMastodon } from './mastodon.fake.ts'

export type MastodonStand = HttpStand & { server: FakeMastodon }

/** A channel on a fake server, connected just now. */
export async function stand(options: Parameters<typeof fakeMastodon>[0] = {}): Promise<MastodonStand> {
  const server = await fakeMastodon(options)
  return {
    network: mastodon,
    server,
    session: sessionOn(server),
    newKey: randomUUID,
    shown: async () => server.statuses,
    close: server.close,
    sendRoute: 'POST /api/v1/statuses',
    uploadRoute: 'POST /api/v2/media',
    secrets: [server.token],
    deadToken: [
      { status: 401, body: { error: 'The access token was revoked' } },
      { status: 403, body: { error: 'This action is outside the authorized scopes' } },
    ],
    refusal: { status: 422, body: { error: 'Validation failed: <b>This text is not wanted.</b>' } },
  }
}

function sessionOn({ url, token, accountId, aheadMs: clockAheadMs }: FakeMastodon): Session {
  return {
    organisationId: randomUUID(),
    channelId: randomUUID(),
    remoteAccount: `host/${accountId}`,
    credential: { instance: url, token, accountId, clockAheadMs },
    outbound: outboundToLoopback(),
    signal: new AbortController().signal,
  }
}

export type Sought = Parameters<NonNullable<typeof mastodon.find>>[0]

/** A post with this text and so many files, sent now without an answer. `more` is what the ledger knows about it. */
export function lost(text: string, { media = 0, ...more }: Partial<Sought> & { media?: number } = {}): Sought {
  return {
    publishKey: randomUUID(),
    prepared: { status: text, visibility: 'public', media_ids: Array(media).fill('m') },
    since: new Date(),
    now: () => new Date(),
    recorded: async () => new Map(),
    others: async () => [],
    ...more,
  }
}

export async function find(it: MastodonStand, sought: Sought): Promise<Publication | Unclear | null> {
  return (await mastodon.find?.(sought, it.session)) ?? null
}

/** The result of a reading: the id of the status that is the post, 'unclear' or 'absent'. */
export async function reading(it: MastodonStand, sought: Sought): Promise<string | null> {
  const read = await find(it, sought)
  if (read instanceof Unclear) return 'unclear'
  return read === null ? 'absent' : read.remoteId
}
