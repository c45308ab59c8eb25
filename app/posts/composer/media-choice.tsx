import { useRef } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { FieldErrors } from '../../ui/forms/control.tsx'
import { AddMedia } from './media/add-media.tsx'
import { Dropping } from './media/dropping.tsx'
import { FromLink } from './media/from-link.tsx'
import { MediaList } from './media/media-list.tsx'
import { UploadRows } from './media/upload-rows.tsx'
import { composerStrings } from './strings.tsx'
import type { Picked, Uploads } from './uploads.ts'
import type { MediaChanges } from './use-fields.ts'

const strings = composerStrings.media

type Problems = Record<string, string[]>

type ChoiceProps = {
  media: Picked[]
  changes: MediaChanges
  uploads: Uploads
  channels: Channel[]
  problems: Problems
}

/** The files of the post, those on their way, and what adds files: a button, a link, dropping and pasting. */
export function MediaChoice({ media, changes, uploads: { uploads, line }, channels, problems }: ChoiceProps) {
  const picker = useRef<HTMLInputElement>(null)
  const remove = (id: string) => {
    changes.remove(id)
    picker.current?.focus()
  }
  // Also what uploads for a channel that is no longer chosen: here it can be cancelled.
  const here = uploads.filter(({ channelId }) => !channels.some(({ id }) => id === channelId))
  const undescribed = media.filter(({ alt }) => alt.trim() === '').length
  return (
    <div className="space-y-3">
      <MediaList
        media={media}
        channels={channels}
        problems={problems}
        onMove={changes.move}
        onDescribe={changes.describe}
        onRemove={remove}
      />
      {undescribed > 0 ? <p className="text-sm text-muted">{strings.noAltText(undescribed)}</p> : null}
      <FieldErrors id="media-problems" errors={problems.mediaIds} />
      <UploadRows uploads={here} line={line} picker={picker} />
      <div className="flex flex-wrap gap-2">
        <AddMedia
          label={strings.add}
          picker={picker}
          channels={channels}
          describedBy="media-problems"
          onPick={(files) => line.add(files, null)}
        />
        <FromLink onAdd={(url) => line.addLink(url)} />
      </div>
      <Dropping onFiles={(files, channelId) => line.add(files, channelId)} />
    </div>
  )
}
