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
    .refine(
      (ids) => new Set(ids.map((id) => id.toLowerCase())).size === ids.length,
      'The same channel is listed twice.',
    )
    .pipe(z.array(Id))
const MediaIds = z.array(Id).max(20, 'At most 20 files.')

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
}

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
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'Must be one of schedule, now, draft.' : undefined) },
)

/** A change of a post. Fields that are left out stay. `channelIds`, `mediaIds` and `overrides` replace the old lists. */
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
export const ListAttempts = z.strictObject({ id: Id, limit, cursor })

const NewId = Id.refine((id) => id !== NoSuchId)

const copied = {
  revision: z.number().int().min(0),
  postVersion: z.number().int().nullable(),
  content: text(100_000),
  channelIds: channelIds(0),
  mediaIds: MediaIds,
  alts: z.record(Id, text(1500)),
  date: text(20),
  time: text(20),
}

/** What is typed into the composer, half a date included. `revision`: of the copy that the page has; 0 for none. */
export const SaveCopy = z.discriminatedUnion('isNew', [
  z.strictObject({ isNew: z.literal(true), id: NewId, ...copied }),
  z.strictObject({ isNew: z.literal(false), id: Id, ...copied }),
])
/** A new post, and the working copy that it was. */
export const SubmitCopy = z.strictObject({ id: NewId, post: CreatePost })
