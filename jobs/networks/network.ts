import type { ChannelLimits } from '../../db/schema/channels.ts'
import type { Outbound } from '../outbound/outbound.ts'

/** What a network needs to act for one account. Sealed as JSON in `channels.credential`. Each network has its form. */
export type Credential = Record<string, unknown>

/** A file of a post. */
export type PostMedia = {
  mime: string
  bytes: number
  width: number | null
  height: number | null
  alt: string
  url: string // public address, for networks that fetch it themselves
  durationMs: number | null // of a video
  read: () => Promise<Uint8Array> // whole: for images, which are small
  stream: () => Promise<AsyncIterable<Uint8Array>>
}

/** What we publish, as the person wrote it. */
export type Content = { text: string; media: PostMedia[] }

/** What a network gets to act for a channel. */
export type Session = {
  organisationId: string
  channelId: string
  remoteAccount: string
  credential: Credential
  outbound: Outbound // checks every address; in `send` it also enforces the deadline of the first byte
  signal: AbortSignal
}

/** A post as its network names it. `remoteId` null: the network gives none. The attempt's record keeps `reply`. */
export type Publication = { remoteId: string | null; url: string | null; status?: number | null; reply?: string | null }

/** A delivery that may be published, and what the ledger knows about it. All instants are by the ledger's clock. */
export type Sought = {
  publishKey: string
  prepared: unknown
  since: Date // the intent: it was not sent before
  now: () => Date
  /** Which of these remote ids are recorded for other deliveries of the channel: they are not ours. */
  recorded: (remoteIds: string[]) => Promise<Map<string, Recorded>>
  /** The channel's other deliveries with an open outcome. What is not recorded may be theirs. Null: too many. */
  others: () => Promise<Other[] | null>
}

/** A recorded post of the same channel: when it was sent, and when we learned that. */
export type Recorded = { sentAt: Date; recordedAt: Date }

/** `isUnderWay`: it is being sent right now, and we will know more soon. */
export type Other = { prepared: unknown; isUnderWay: boolean }

/** A complete reading that neither shows the post nor proves that it is absent. `url` is a post that may be ours. */
export class Unclear {
  readonly message: string
  readonly url: string | null
  constructor(message: string, url: string | null = null) {
    this.message = message
    this.url = url
  }
}

/** An account that was just connected. */
export type ConnectedAccount = {
  remoteAccount: string
  name: string
  handle: string | null
  url: string | null
  pictureUrl: string | null
  limits: ChannelLimits
  credential: Credential
}

/** The apps that an organisation registered at servers of a network, by origin. Stored sealed; must survive JSON. */
export type Registrations = {
  of: (server: string) => Promise<unknown> // null: none
  keep: (server: string, registration: unknown) => Promise<void>
  forget: (server: string) => Promise<void>
}

/** What connecting may use. */
export type ConnectAccess = { outbound: Outbound; registrations: Registrations }

/** A request to a consent page. `redirectUri` is ours. A network may add a part that tells its servers apart. */
export type ConsentRequest = { redirectUri: string; state: string }

/**
 * What a consent page sent back (RFC 6749 §4.1.2, RFC 9207 §2): `server` is the part after `redirectUri` in the
 * callback's path, the rest is its query. Null: it was missing.
 */
export type ConsentAnswer = Record<'server' | 'code' | 'error' | 'iss', string | null>

/**
 * How a channel of a network is connected. `form`: what the person types is enough. `redirect`: they go to the
 * network's consent page and come back with a code. `kept` (sealed meanwhile, must survive JSON) goes from `begin` to
 * `finish`. `finish` must refuse an answer that did not come from the server that we asked. `remoteAccount` is set if
 * we reconnect a channel; only a network that makes its own accounts needs it. All throw ConnectError.
 */
export type Connecting = {
  /** The fields of the form that we know for a channel. `servers`: where the organisation has registered. */
  known?: (
    channel: { credential: Credential | null; remoteAccount: string },
    servers: string[],
  ) => Record<string, string>
} & (
  | {
      by: 'form'
      connect: (input: Record<string, string>, outbound: Outbound, remoteAccount?: string) => Promise<ConnectedAccount>
    }
  | {
      by: 'redirect'
      begin: (
        input: Record<string, string>,
        request: ConsentRequest,
        access: ConnectAccess,
      ) => Promise<{ url: string; kept: unknown }>
      finish: (kept: unknown, answer: ConsentAnswer, access: ConnectAccess) => Promise<ConnectedAccount>
    }
)

/** Thrown while connecting: a sentence for the person, and the field of the form that it belongs to, if any. */
export class ConnectError extends Error {
  readonly field: string | null
  constructor(message: string, { field = null, cause }: { field?: string | null; cause?: unknown } = {}) {
    super(message, { cause })
    this.field = field
  }
}

/**
 * What a second send of the same publication does.
 * keyed: nothing, the same key is the same post · two-step: a container, then its publication ·
 * readable: a second post, but the account's posts can be listed · blind: a second post, and we can't check.
 */
export type RepeatedSend = 'keyed' | 'two-step' | 'readable' | 'blind'

/**
 * How the network shows a post, for the preview while somebody writes. Only data: pages have no code for any one network.
 * `handle`: where it stands beside the account's name. `marks`: what it shows as links. `linkLength`: after how many
 * characters it cuts a link, which it then shows without its scheme. `linkCard`: it adds a card for the first link of a
 * post without media. `media`: as a grid, or each as wide as the text.
 */
export type Preview = {
  handle: 'beside' | 'below' | 'hidden'
  marks: ('link' | 'mention' | 'hashtag')[]
  linkLength?: number
  linkCard?: boolean
  media: 'grid' | 'column'
  textSize: 'normal' | 'large'
}

/** One social network: everything that the rest of the product knows about it. The contract is in docs/networks.md. */
export type Network = {
  name: string
  /** The name of an account's server, for sentences. Absent: `name`, because all accounts have the same server. */
  serverOf?: (remoteAccount: string) => string
  repeatedSend: RepeatedSend
  /** How many all workers together may claim or send at once. The operator can set another number. Absent: no limit. */
  atOnce?: number
  /** How long after a send its post may still appear: between two readings that prove it absent. Default: 60,000 ms. */
  settlesWithinMs?: number
  /** The real server or the contract that we verified this file against, as the README's table shows it. */
  verifiedAgainst: string
  connecting: Connecting
  /** Absent: the text as it is. */
  preview?: Preview
  /** The channel's own page, if we make it ourselves. We know it only when the channel has an id. */
  pageOf?: (channelId: string) => string
  /** The publish key of a new delivery, if the network needs its own format (Bluesky: a TID). Otherwise a UUIDv7. */
  mintPublishKey?: () => string
  /**
   * Upload media, make text and facets: all that may be slow or fail without harm. The result must survive JSON.
   * Nothing is public yet.
   */
  prepare: (content: Content, publishKey: string, session: Session) => Promise<unknown>
  /** One HTTP call that makes it public. Throws PublishError. Other errors are "unknown" once a byte may have left. */
  send: (delivery: { publishKey: string; prepared: unknown }, session: Session) => Promise<Publication>
  /** readable, two-step: look for the post in the account. Null only after a complete reading that proves it absent. */
  find?: (sought: Sought, session: Session) => Promise<Publication | Unclear | null>
  /** What the channel's account accepts now. Null if the network doesn't say. Throws if we can't ask. */
  limits?: (session: Session) => Promise<ChannelLimits | null>
  /** A new credential for one that was refused; throws PublishError `reconnect` when we can't get one. */
  refresh?: (credential: Credential, session: Omit<Session, 'credential'>) => Promise<Credential>
  /** How we revoke a credential that is no longer needed. Absent: there is nothing to revoke. */
  revoking?: Revoking
}

/**
 * `isSame`: revoking one of the two revokes the other. `revoke` returns if the credential is revoked, even if it was
 * before. It throws PublishError `refused` if it never will be; other errors may pass. The message names the server.
 */
export type Revoking = {
  isSame: (one: Credential, other: Credential) => boolean
  revoke: (credential: Credential, access: Pick<Session, 'outbound' | 'signal'>) => Promise<void>
}

/** The name of an account's server, for sentences: `social.example`, or `Bluesky`. */
export function serverName({ name, serverOf }: Network, remoteAccount: string): string {
  return serverOf?.(remoteAccount) ?? name
}

/** The name of the server of an uncertain delivery's account; null if this worker does not know the network. */
export function serverOf({ remoteAccount }: { remoteAccount: string }, network: Network | undefined): string | null {
  return network ? serverName(network, remoteAccount) : null
}

/** The result of a failed attempt: the four verdicts of docs/networks.md. */
export type Verdict = 'later' | 'refused' | 'reconnect' | 'unknown'

/** Thrown by a network: the verdict, the sentence that the person reads, and what they can do. */
export class PublishError extends Error {
  readonly verdict: Verdict
  readonly code: string
  readonly nextStep: string
  readonly retryAt: Date | null
  readonly status: number | null
  readonly reply: string | null

  /**
   * `code` is stable and snake_case. `retryAt` is when the network allows the next call (a 429: pauses the channel).
   * `status` and `reply` are what it answered, for the attempt's record.
   */
  constructor(
    verdict: Verdict,
    message: string,
    more: {
      code?: string
      nextStep?: string
      retryAt?: Date | null
      status?: number
      reply?: string
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: more.cause })
    this.verdict = verdict
    this.code =
      more.code ??
      {
        later: 'network_busy',
        refused: 'network_refused',
        reconnect: 'channel_needs_reconnect',
        unknown: 'outcome_unknown',
      }[verdict]
    this.nextStep =
      more.nextStep ??
      {
        later: "We'll retry automatically.",
        refused: 'Change the post so that the network accepts it, or retry when the cause is fixed.',
        reconnect: 'Reconnect the channel.',
        unknown: "We're checking if your post went out.",
      }[verdict]
    this.retryAt = more.retryAt ?? null
    this.status = more.status ?? null
    this.reply = more.reply ?? null
  }
}
