import type { Override } from '../../../jobs/ledger/post-view.ts'
import type { Media } from '../../../server/media/media.ts'
import type { Api } from '../../../server/router.ts'
import { shown } from '../../api.ts'
import { ownMediaIds } from '../composer/channels/overrides.ts'
import { fileIdsOf } from '../composer/typed.ts'
import type { CopyStart } from './autosave.ts'
import { type Fields, fieldsHeld, fieldsOf } from './fields.ts'

type Wanted = { id: string; isNew: boolean; postVersion: number | null; fields: Fields }

/**
 * What the composer begins with: the member's working copy with this id, or else `fields`, which are those of the post.
 * `untouched`: the same without the copy.
 */
export async function startOf(api: Api, { id, isNew, postVersion, fields }: Wanted) {
  const untouched = fieldsHeld(fields)
  const saved = await shown(api.workingCopies.get({ id }))
  if (!saved) return { copy: { id, isNew, revision: 0, postVersion } satisfies CopyStart, start: untouched, untouched }
  const files = await shown(api.media.some({ ids: fileIdsOf(saved) }))
  const copy: CopyStart = { id, isNew, revision: saved.revision, postVersion: saved.postVersion }
  return { copy, start: fieldsOf(saved, files, untouched), untouched }
}

/** The files of a post, and after them those that only some channel has of its own. */
export async function withOwnFiles(api: Api, media: Media[], overrides: Override[]): Promise<Media[]> {
  const ids = ownMediaIds(overrides).filter((id) => !media.some((file) => file.id === id))
  return ids.length === 0 ? media : [...media, ...(await api.media.some({ ids: [...new Set(ids)] }))]
}
