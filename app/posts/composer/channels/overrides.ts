import type { Override } from '../../../../jobs/ledger/post-view.ts'

// What a channel has of its own, in the form of the API (docs/api/posts.md). The page's form carries the whole objects, so
// members that this page does not know are kept.

/** The text or the media of one channel. Undefined: the channel gets what the post has. */
export type Own = { content?: string | undefined; mediaIds?: string[] | undefined }

/** `overrides` with a change of what `channelId` has of its own. */
export function withOwn(overrides: Override[], channelId: string, own: Own): Override[] {
  const before = overrides.find((override) => override.channelId === channelId)
  const members = Object.entries({ ...(before ?? { channelId }), ...own }).filter(([, value]) => value !== undefined)
  const after = members.length > 1 ? [Object.fromEntries(members) as Override] : []
  return before ? overrides.flatMap((override) => (override === before ? after : [override])) : [...overrides, ...after]
}

/** `overrides` with one more file that only `channelId` has. */
export function withOwnFile(overrides: Override[], channelId: string, fileId: string): Override[] {
  const own = overrides.find((override) => override.channelId === channelId)
  return withOwn(overrides, channelId, { mediaIds: [...(own?.mediaIds ?? []), fileId] })
}

/** The ids of all files that some channel has of its own. */
export function ownMediaIds(overrides: Override[]): string[] {
  return overrides.flatMap(({ mediaIds }) => mediaIds ?? [])
}

/** An override in the text of a form's field. Empty if it is none. */
export function readOverride(field: string): Override[] {
  try {
    const value: unknown = JSON.parse(field)
    return isOverride(value) ? [value] : []
  } catch {
    return []
  }
}

/** The same text for the same overrides, whatever the order of overrides and members. */
export function comparable(overrides: Override[]): string {
  return JSON.stringify(
    overrides.toSorted((a, b) => (a.channelId < b.channelId ? -1 : 1)),
    (_, value) => (isPlain(value) ? Object.fromEntries(Object.entries(value).toSorted()) : value),
  )
}

function isOverride(value: unknown): value is Override {
  if (!isPlain(value) || typeof value.channelId !== 'string') return false
  const { content, mediaIds } = value
  const hasIds = Array.isArray(mediaIds) && mediaIds.every((id) => typeof id === 'string')
  return (content === undefined || typeof content === 'string') && (mediaIds === undefined || hasIds)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
