import { useEffect, useState } from 'react'
import type { Media } from '../../../server/media/media.ts'
import { useAccount } from '../../shell/account.ts'
import { useAskBeforeLeaving } from './media/leaving.ts'
import { type Upload, UploadLine } from './media/upload-line.ts'

/** A file of the form. `altBefore`: its alt text before somebody changed it here. */
export type Picked = Pick<Media, 'id' | 'kind' | 'url' | 'thumbnailUrl' | 'alt'> & { altBefore?: string | undefined }

export type Uploads = ReturnType<typeof useUploads>

/**
 * The files that upload while the person goes on writing. `onMedia` gets each that has arrived, with the channel that it
 * is only for, or null. It is the one of the first call. `coming`: how many the post waits for. It does not wait for those
 * of a channel that is not in `channelIds`.
 */
export function useUploads(channelIds: string[], onMedia: (media: Media, channelId: string | null) => void) {
  const [uploads, setUploads] = useState<Upload[]>([])
  const organisationId = useAccount()?.organisationId ?? ''
  // The organisation for which the page was opened: another tab may switch it.
  const [line] = useState(() => new UploadLine(organisationId, { onChange: setUploads, onMedia }))
  const isFor = ({ channelId }: Upload) => channelId === null || channelIds.includes(channelId)
  const coming = uploads.filter((upload) => upload.problem === null && isFor(upload)).length
  useEffect(() => () => line.cancelAll(), [line])
  useAskBeforeLeaving(coming > 0)
  return { uploads, coming, line }
}
