import type { Api } from '../../../server/router.ts'
import { shown } from '../../api.ts'
import type { CopyStart } from './autosave.ts'
import { type Fields, fieldsOf } from './fields.ts'

type Wanted = { id: string; isNew: boolean; postVersion: number | null; untouched: Fields }

/** What the composer begins with: the member's working copy with this id, or else the `untouched` fields. */
export async function startOf(api: Api, { id, isNew, postVersion, untouched }: Wanted) {
  const saved = await shown(api.workingCopies.get({ id }))
  if (!saved) return { copy: { id, isNew, revision: 0, postVersion } satisfies CopyStart, start: untouched }
  const media = await shown(api.media.some({ ids: saved.mediaIds }))
  const copy: CopyStart = { id, isNew, revision: saved.revision, postVersion: saved.postVersion }
  return { copy, start: fieldsOf(saved, media) }
}
