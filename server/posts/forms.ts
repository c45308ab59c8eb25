import { z } from 'zod'
import { cursor, Id, Instant, limit, NoSuchId, text } from '../forms.ts'

// From If-Match: the post must have one of these versions.
const IfVersions = z.array(z.number().int()).optional()

/** A post, and optionally the versions of which it must have one. */
export const PostById = z.strictObject({ id: Id, ifVersions: IfVersions })

const channelIds = (least: number) =>
  z
    .array(z.string())
    .min(least, 'Choose at least one channel.')
    .max(50, 'At most 50 channels.')
    .refine(isDistinct, 'The same channel is listed twice.')
    .pipe(z.array(Id))
const MediaIds = z
  .array(z.string())
  .max(20, 'At most 20 files.')
  .refine(isDistinct, 'The same file is listed twice.')
  .pipe(z.array(Id))

function isDistinct(ids: string[]): boolean {
  return new Set(ids.map((id) => id.toLowerCase())).size === ids.length
}

const Tags = z
  .array(
    text(50)
      .transform((tag) => tag.trim().normalize())
      .refine((tag) => tag !== '', 'Send at least one character.')
      .refine((tag) => !tag.includes(','), 'A tag has no comma.')
      .refine((tag) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(tag), 'A tag has no line break or control character.')
      .pipe(text(50)), // normalized, some are longer
  )
  .max(10, 'At most 10 tags.')
  .refine((tags) => new Set(tags).size === tags.length, 'The same tag is listed twice.')

/** Another text or other media for one channel. What is left out comes from the post. */
const Override = z
  .strictObject({ channelId: Id, content: text(100_000).optional(), mediaIds: MediaIds.optional() })
  .refine(({ content, mediaIds }) => content !== undefined || mediaIds !== undefined, 'Send content or mediaIds.')
  .meta({
    id: 'NewOverride',
    description: 'Another text or other media for one channel. What you leave out comes from the post.',
  })
const Overrides = z
  .array(Override)
  .max(50, 'At most 50 overrides.')
  .refine(
    (all) => new Set(all.map(({ channelId }) => channelId)).size === all.length,
    'The same channel is listed twice.',
  )

const postBody = {
  content: text(100_000),
  channelIds: channelIds(1),
  mediaIds: MediaIds.optional(),
  overrides: Overrides.optional(),
  tags: Tags.optional(),
}

const QueueId = Id.meta({ description: 'Only with the type `queue`. Default: the default queue.' })

/** The body of POST /posts, and of the composer. */
export const CreatePost = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('schedule'), date: Instant, ...postBody }),
    z.strictObject({
      type: z.literal('now'),
      date: z.never("A post of type now can't have a date. Leave it out.").optional(),
      ...postBody,
    }),
    z.strictObject({ type: z.literal('draft'), date: Instant.nullish(), ...postBody, channelIds: channelIds(0) }),
    z.strictObject({
      type: z.literal('queue'),
      queueId: QueueId.optional(),
      date: z.never("A post of type queue can't have a date. It gets the queue's next free time.").optional(),
      ...postBody,
    }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'Must be one of schedule, now, draft, queue.' : undefined) },
)

/** A change of a post. Fields that are left out stay. Lists replace the old lists. */
export const UpdatePost = z
  .strictObject({
    id: Id,
    type: z.enum(['draft', 'schedule', 'now', 'queue']).optional(),
    queueId: QueueId.optional(),
    date: Instant.nullish(),
    content: text(100_000).optional(),
    channelIds: channelIds(0).optional(),
    mediaIds: MediaIds.optional(),
    overrides: Overrides.optional(),
    tags: Tags.optional(),
    ifVersions: IfVersions,
  })
  .refine(({ type, queueId }) => type === 'queue' || queueId === undefined, {
    path: ['queueId'],
    error: 'Only a post of type queue can name a queue.',
  })
  .refine(({ type, date }) => type !== 'queue' || date === undefined, {
    path: ['date'],
    error: "A post of type queue can't have a date. It gets the queue's next free time.",
  })

/** The channels on which a cancelled post is scheduled again. */
export const ScheduleAgain = z.strictObject({ id: Id, channelIds: channelIds(1) })

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
export const ListAttempts = z.strictObject({ id: Id, limit, cursor })

const UnknownPartsAtMost = 2000

// Members of an override that we don't know yet are kept: a page of a newer version may have written them.
const CopiedOverride = z
  .looseObject({ channelId: Id, content: text(100_000).optional(), mediaIds: MediaIds.optional() })
  .refine(isStorable, 'Contains characters that are not valid text, or too many parts.')

/** Whether PostgreSQL takes a value as jsonb. Not by recursion: it may be nested as deep as its text is long. */
function isStorable(value: unknown): boolean {
  const parts = [value]
  for (const part of parts) {
    if (typeof part === 'string' && (part.includes('\0') || !part.isWellFormed())) return false
    if (typeof part !== 'object' || part === null) continue
    for (const inner of Object.entries(part).flat()) parts.push(inner)
    if (parts.length > UnknownPartsAtMost) return false
  }
  return true
}

const NewId = Id.refine((id) => id !== NoSuchId)

const Alts = z.record(Id, text(1500))

const copied = {
  revision: z.number().int().min(0),
  postVersion: z.number().int().nullable(),
  content: text(100_000),
  channelIds: channelIds(0),
  mediaIds: MediaIds,
  alts: Alts,
  overrides: z.array(CopiedOverride).max(50, 'At most 50 overrides.').optional(), // pages of the last version send none
  tags: text(2000).optional(), // the same
  date: text(20),
  time: text(20),
  zone: text(100).optional(), // of date and time; pages of the last version send none
}

/** What is typed into the composer, half a date included. `revision`: of the copy that the page has; 0 for none. */
export const SaveCopy = z.discriminatedUnion('isNew', [
  z.strictObject({ isNew: z.literal(true), id: NewId, ...copied }),
  z.strictObject({ isNew: z.literal(false), id: Id, ...copied }),
])
/** A new post, and the working copy that it was. */
export const SubmitCopy = z.strictObject({ id: NewId, post: CreatePost, alts: Alts.default({}) })
/** The change of a post, and the alt texts that were changed with it, by media id. */
export const SubmitChange = z.strictObject({ change: UpdatePost, alts: Alts.default({}) })
