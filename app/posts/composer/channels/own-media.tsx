import { useRef } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { FieldErrors } from '../../../ui/forms/control.tsx'
import type { Fields } from '../../working-copy/fields.ts'
import { AddMedia } from '../media/add-media.tsx'
import { DropHere, takesFilesFor } from '../media/dropping.tsx'
import { UploadRows } from '../media/upload-rows.tsx'
import { composerStrings } from '../strings.tsx'
import { ownMediaName } from '../typed.ts'
import type { Uploads } from '../uploads.ts'
import { BeginButton, SharedButton, useFocusAfterPress } from './own-buttons.tsx'
import { type FileProps, OwnFile, SharedFile } from './own-file.tsx'

const strings = composerStrings.own

type Props = {
  channel: Channel
  fields: Fields
  uploads: Uploads
  mediaIds: string[] | undefined // undefined: the post's
  onChange: (mediaIds: string[] | undefined) => void
  onDescribe: (id: string, alt: string) => void
  problems: string[] | undefined
}

/** The media that a channel has of its own: a choice among the files of the post, and files for this channel only. */
export function OwnMedia({ mediaIds, ...props }: Props) {
  const { channel, fields, uploads, onChange } = props
  const place = useFocusAfterPress(mediaIds !== undefined)
  const begin = place.pressed(() => onChange(fields.media.map(({ id }) => id)))
  const end = place.pressed(() => {
    uploads.line.cancelOf(channel.id)
    onChange(undefined)
  })
  return (
    <div ref={place.on} className={mediaIds ? 'w-full' : ''}>
      {mediaIds ? (
        <>
          <OwnGroup {...props} chosen={mediaIds} />
          <SharedButton channelId={channel.id} onClick={end}>
            {strings.useSharedMedia}
          </SharedButton>
        </>
      ) : (
        <BeginButton channelId={channel.id} onClick={begin}>
          {strings.chooseMedia}
        </BeginButton>
      )}
    </div>
  )
}

type GroupProps = Omit<Props, 'mediaIds'> & { chosen: string[] }

function OwnGroup({ channel, fields, uploads: { uploads, line }, problems, ...choice }: GroupProps) {
  const picker = useRef<HTMLInputElement>(null)
  const problemsId = `${ownMediaName(channel.id)}-problems`
  const name = <bdi>{channel.name}</bdi>
  return (
    <fieldset {...takesFilesFor(channel.id)} className="relative min-w-0 space-y-3" aria-describedby={problemsId}>
      <legend className="w-full text-sm font-medium [overflow-wrap:anywhere]">{strings.media(name)}</legend>
      <Files channel={channel} fields={fields} isWrong={problems !== undefined} problemsId={problemsId} {...choice} />
      <FieldErrors id={problemsId} errors={problems} />
      <UploadRows uploads={uploads.filter(({ channelId }) => channelId === channel.id)} line={line} picker={picker} />
      <AddMedia
        label={strings.add}
        picker={picker}
        channels={[channel]}
        describedBy={`name-${channel.id} ${problemsId}`}
        onPick={(files) => line.add(files, channel.id)}
      />
      <DropHere className="-inset-1 z-20 rounded-lg">{strings.dropHere(name)}</DropHere>
    </fieldset>
  )
}

type FilesProps = Pick<GroupProps, 'channel' | 'fields' | 'chosen' | 'onChange' | 'onDescribe'> & {
  isWrong: boolean
  problemsId: string
}

function Files({ channel, fields: { media, files }, chosen, onChange, onDescribe, isWrong, problemsId }: FilesProps) {
  const others = files.filter(({ id }) => !media.some((file) => file.id === id))
  const undescribed = others.filter(({ id, alt }) => chosen.includes(id) && alt.trim() === '').length
  const choiceOf = (file: Fields['files'][number], no: number): FileProps => ({
    file,
    no,
    isChosen: chosen.includes(file.id),
    isWrong,
    onChange: (isChosen) => onChange(isChosen ? [...chosen, file.id] : chosen.filter((id) => id !== file.id)),
  })
  return (
    <>
      <div className="flex flex-wrap gap-3 empty:hidden">
        {media.map((file, index) => (
          <SharedFile key={file.id} {...choiceOf(file, index + 1)} />
        ))}
      </div>
      {others.map((file, index) => (
        <OwnFile
          key={file.id}
          {...choiceOf(file, media.length + index + 1)}
          channel={channel}
          onDescribe={(alt) => onDescribe(file.id, alt)}
          problemsId={problemsId}
        />
      ))}
      {chosen.length === 0 ? <p className="text-sm text-muted">{strings.noMedia}</p> : null}
      {undescribed > 0 ? <p className="text-sm text-muted">{composerStrings.media.noAltText(undescribed)}</p> : null}
    </>
  )
}
