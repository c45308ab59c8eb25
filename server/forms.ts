import { z } from 'zod'

// The inputs of procedures, shared with the pages' forms. Nothing is imported here but zod and the networks' counting.
// Those of apps and of their consents are in app-forms.ts.

z.config({
  customError: (issue) => (issue.code === 'invalid_type' && issue.input === undefined ? 'Required.' : undefined),
})

export const scopes = [
  'channels:read',
  'posts:read',
  'posts:write',
  'media:read',
  'media:write',
  'webhooks:manage',
] as const
export type Scope = (typeof scopes)[number]
/** Whether a scope is for making or changing posts or files. */
export const isWriting = (scope: Scope | undefined): boolean => scope === 'posts:write' || scope === 'media:write'

/** What a credential gets that names no scopes. */
export const defaultScopes: Scope[] = scopes.filter((scope) => scope !== 'webhooks:manage')

/** Text that PostgreSQL keeps as it came: no NUL, no half of a surrogate pair. `most` in UTF-16 units. */
export const text = (most: number) =>
  z
    .string()
    .max(most, `At most ${most.toLocaleString('en')} characters.`)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), {
      error: 'Contains characters that are not text.',
      abort: true,
    })

/** A name that others read, on the consent page among other places. */
export const line = (most: number) =>
  text(most)
    .trim()
    .min(1, { error: 'Required.', abort: true })
    .refine(isVisibleLine, 'Must be one line of text that can be seen.')

// No control characters or line breaks, and nothing that turns the direction of what stands beside it (UAX #9). Letters
// and symbols that show nothing, the fillers of Hangul and of Braille, do not count.
function isVisibleLine(value: string): boolean {
  const breaksOut = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(value)
  return !breaksOut && /(?![\u115f\u1160\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]/u.test(value)
}

const NoSuchId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const Uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id, opaque to callers: a malformed one is simply that of nothing. */
export const Id = z.string().transform((value) => (Uuid.test(value) ? value.toLowerCase() : NoSuchId))
export const ById = z.strictObject({ id: Id })

// If-Match: the post must have one of these versions.
const IfVersions = z.array(z.number().int()).optional()

/** A post, and optionally the versions of which it must have one. */
export const PostById = z.strictObject({ id: Id, ifVersions: IfVersions })

/** An ISO 8601 instant in UTC, fraction of 1 to 3 digits optional. */
export const Instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/, {
    error: 'Must be an instant in UTC such as 2026-12-24T18:00:00.000Z.',
    abort: true,
  })
  .refine(isOnTheCalendar, 'There is no such day or time.')
  .meta({ description: 'An instant in UTC, such as 2026-12-24T18:00:00.000Z.' })
  .transform((value) => new Date(value))

function isOnTheCalendar(value: string): boolean {
  const date = new Date(value)
  const isTheSame = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === value.slice(0, 19)
  return isTheSame && date.getUTCFullYear() > 0 // PostgreSQL has no year 0
}

const Email = z.string().trim().max(254).pipe(z.email('Must be an e-mail address.'))
const Password = text(200).min(10, 'At least 10 characters.')
const TimeZone = z.string().refine(isTimeZone, 'Must be a time zone such as Europe/Berlin.')

function isTimeZone(value: string): boolean {
  try {
    // A bare offset is taken as well, but knows nothing of summer.
    return /^[a-z]/i.test(new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone)
  } catch {
    return false
  }
}

export const SignUp = z.strictObject({
  name: line(100),
  email: Email,
  password: Password,
  organisation: line(100),
  timeZone: TimeZone.optional(),
})
export const SignIn = z.strictObject({ email: Email, password: text(200).min(1, 'Required.') })
export const UpdateAccount = z.strictObject({
  name: line(100),
  email: Email,
  timeZone: TimeZone,
  password: text(200).optional(),
})
export const ChangePassword = z.strictObject({ current: text(200).min(1, 'Required.'), password: Password })

export const NewKey = z.strictObject({
  name: line(100),
  scopes: z.array(z.enum(scopes)).min(1, 'Choose at least one.').optional(),
  expiresAt: Instant.nullish(),
})

export const limit = z.number().int().min(1).max(100).default(50)
export const cursor = z.string().max(500).optional()
/** Which page of a list, where there are no filters. */
export const Paged = z.strictObject({ limit, cursor })

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
/** What operators pause and resume: everything, a network by its key, a channel. */
export const Reach = z.discriminatedUnion('scope', [
  z.strictObject({ scope: z.literal('all') }),
  z.strictObject({ scope: z.literal('network'), name: text(50) }),
  z.strictObject({ scope: z.literal('channel'), id: Id }),
])
export const stuckKinds = ['overdue', 'uncertain', 'needs_review', 'held', 'suspects'] as const
export const ListStuck = z.strictObject({ kind: z.enum(stuckKinds), limit, cursor })
export const Disconnect = z.strictObject({ id: Id, unsent: z.enum(['cancel', 'hold']) })

const channelIds = (least: number) =>
  z
    .array(z.string())
    .min(least, 'Name at least one channel.')
    .max(50, 'At most 50 channels.')
    .refine((ids) => new Set(ids.map((id) => id.toLowerCase())).size === ids.length, 'A channel is named twice.')
    .pipe(z.array(Id))
const MediaIds = z.array(Id).max(20, 'At most 20 files.')

/** A text or media of its own on one channel; what is left out is the post's. */
const Override = z
  .strictObject({ channelId: Id, content: text(100_000).optional(), mediaIds: MediaIds.optional() })
  .refine(({ content, mediaIds }) => content !== undefined || mediaIds !== undefined, 'Name content or mediaIds.')
  .meta({
    id: 'NewOverride',
    description: 'A text or media of its own on one channel; what is left out is the post’s.',
  })
const Overrides = z
  .array(Override)
  .max(50, 'At most 50.')
  .refine((all) => new Set(all.map(({ channelId }) => channelId)).size === all.length, 'A channel is named twice.')

const postBody = {
  content: text(100_000),
  channelIds: channelIds(1),
  mediaIds: MediaIds.optional(),
  overrides: Overrides.optional(),
}

/** The body of POST /posts, and of the composer. */
export const CreatePost = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('schedule'), date: Instant, ...postBody }),
    z.strictObject({
      type: z.literal('now'),
      date: z.never('A post that goes out now takes no date.').optional(),
      ...postBody,
    }),
    z.strictObject({ type: z.literal('draft'), date: Instant.nullish(), ...postBody, channelIds: channelIds(0) }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'Must be one of schedule, now, draft.' : undefined) },
)

/** A change of a post: what is left out stays. `channelIds`, `mediaIds` and `overrides` are whole new sets. */
export const UpdatePost = z.strictObject({
  id: Id,
  type: z.enum(['draft', 'schedule', 'now']).optional(),
  date: Instant.nullish(),
  content: text(100_000).optional(),
  channelIds: channelIds(0).optional(),
  mediaIds: MediaIds.optional(),
  overrides: Overrides.optional(),
  ifVersions: IfVersions,
})

const resolved = { id: Id, channelId: Id, ifVersions: IfVersions }
export const Resolve = z.discriminatedUnion('outcome', [
  z.strictObject({
    ...resolved,
    outcome: z.literal('published'),
    url: text(2000)
      .pipe(z.url({ protocol: /^https?$/ }))
      .nullish(),
  }),
  z.strictObject({ ...resolved, outcome: z.literal('not_published') }),
  z.strictObject({ ...resolved, outcome: z.literal('cancelled') }),
])

const Alt = text(1500)
export const UploadFromUrl = z.strictObject({ url: text(2000).min(1, 'Required.'), alt: Alt.optional() })
export const UploadFile = z.strictObject({ alt: Alt.default('') })
export const UpdateMedia = z.strictObject({ id: Id, alt: Alt })
export const ListMedia = z.strictObject({ limit, cursor })
export const ListAttempts = z.strictObject({ id: Id, limit, cursor })

/** What a webhook can be told of. */
export const eventTypes = [
  'post.created',
  'post.updated',
  'post.published',
  'post.partially_published',
  'post.failed',
  'post.needs_review',
  'post.cancelled',
  'channel.connected',
  'channel.needs_reconnect',
] as const
export type EventType = (typeof eventTypes)[number]

const WebhookUrl = text(2000)
  .pipe(z.url({ protocol: /^https?$/, error: 'Must be an address that begins with https:// or http://.', abort: true }))
  .refine((url) => isPlainAddress(url), 'Must hold no user name, no spaces and no port 0.')

// As typed: a parser drops line breaks and a user without a name.
function isPlainAddress(value: string): boolean {
  const [, authority = '@'] = value.match(/^https?:\/\/([^/?#]+)/i) ?? []
  return !authority.includes('@') && !/[\s\p{Cc}\\]/u.test(value) && new URL(value).port !== '0'
}
const webhook = {
  url: WebhookUrl,
  description: text(200).trim(),
  events: z
    .array(z.enum(eventTypes))
    .min(1, 'Choose at least one.')
    .max(eventTypes.length)
    .refine((events) => new Set(events).size === events.length, 'An event is named twice.'),
}
export const CreateWebhook = z.strictObject({
  url: webhook.url,
  description: webhook.description.optional(),
  events: webhook.events.optional(), // all that the credential may read
})
export const UpdateWebhook = z.strictObject({
  id: Id,
  url: webhook.url.optional(),
  description: webhook.description.optional(),
  events: webhook.events.optional(),
  status: z.enum(['ACTIVE', 'OFF']).optional(),
})
export const ListWebhooks = z.strictObject({ limit, cursor })
export const ListWebhookDeliveries = z.strictObject({
  id: Id,
  status: z.enum(['PENDING', 'DELIVERED', 'FAILED']).optional(),
  limit,
  cursor,
})
export const WebhookDeliveryById = z.strictObject({ id: Id, deliveryId: Id })

export const requestMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export const ListRequests = z.strictObject({
  credential: Id.optional(), // the key or the app
  method: z.enum(requestMethods).optional(),
  status: z
    .string()
    .regex(/^[1-5](xx|\d\d)$/i, 'Must be a status such as 404, or 4xx for all of that kind.')
    .optional(),
  problem: text(50).optional(), // the code of a refusal
  path: text(300).optional(), // how it begins, with /public/v1 or without
  requestId: text(100).trim().optional(), // of the answer's X-Request-Id
  from: Instant.optional(),
  to: Instant.optional(),
  limit,
  cursor,
})
