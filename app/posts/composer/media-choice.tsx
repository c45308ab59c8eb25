import { ImagePlus, LoaderCircle, X } from 'lucide-react'
import { type RefObject, useRef } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { controlClass, FieldErrors } from '../../ui/forms/control.tsx'
import { Video } from '../../ui/video.tsx'
import { composerStrings } from './strings.tsx'
import type { Picked, useUploads } from './uploads.ts'

const strings = composerStrings.media

type Problems = Record<string, string[]>

type Uploads = ReturnType<typeof useUploads>

type ChoiceProps = { uploads: Uploads; channels: Channel[]; problems: Problems }

/** The files of the post with their alt texts, and a button that adds files of the types that one of its `channels` accepts. */
export function MediaChoice({ uploads, channels, problems }: ChoiceProps) {
  const { media, coming, refused, add, remove, setAlt } = uploads
  const picker = useRef<HTMLInputElement>(null)
  const drop = (id: string) => {
    remove(id)
    picker.current?.focus()
  }
  return (
    <div className="space-y-3">
      {media.map((one, index) => (
        <MediaField
          key={one.id}
          file={one}
          no={index + 1}
          onDescribe={(alt) => setAlt(one.id, alt)}
          onRemove={() => drop(one.id)}
          problems={problems[one.id]}
        />
      ))}
      <FieldErrors id="media-problems" errors={problems.mediaIds} />
      <AddMedia picker={picker} isUploading={coming > 0} channels={channels} onPick={(files) => void add(files)} />
      <UploadStatus coming={coming} refused={refused} />
    </div>
  )
}

type AddMediaProps = {
  picker: RefObject<HTMLInputElement>
  isUploading: boolean
  channels: Channel[]
  onPick: (files: File[]) => void
}

function AddMedia({ picker, isUploading, channels, onPick }: AddMediaProps) {
  return (
    <label className="inline-flex min-h-9 cursor-pointer items-center gap-2 rounded-lg border border-line bg-panel px-3.5 py-1.5 text-sm font-medium shadow-sm hover:bg-sunken has-[:focus-visible]:outline has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-accent-ink">
      {isUploading ? (
        <LoaderCircle aria-hidden className="size-4 motion-safe:animate-spin" />
      ) : (
        <ImagePlus aria-hidden className="size-4" />
      )}
      {strings.add}
      <input
        ref={picker}
        type="file"
        multiple
        accept={typesOn(channels).join(',')}
        aria-describedby="media-problems"
        className="sr-only"
        onChange={(event) => {
          onPick([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = '' // the same file may be picked again
        }}
      />
    </label>
  )
}

function UploadStatus({ coming, refused }: Pick<Uploads, 'coming' | 'refused'>) {
  return (
    <div role="status" className="space-y-1 text-sm text-muted empty:hidden">
      {coming > 0 ? <p>{strings.uploading(coming)}</p> : null}
      {refused.map(({ name, problem }) => (
        <p key={name} className="text-bad">
          {strings.refused(name, problem)}
        </p>
      ))}
    </div>
  )
}

const OurTypes = [
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'video/quicktime',
]

function typesOn(channels: Channel[]): string[] {
  if (channels.length === 0) return OurTypes
  return OurTypes.filter((type) => channels.some(({ limits }) => limits.mediaTypes.includes(type)))
}

type MediaFieldProps = {
  file: Picked
  no: number
  onDescribe: (alt: string) => void
  onRemove: () => void
  problems: string[] | undefined
}

function MediaField({ file, no, onDescribe, onRemove, problems }: MediaFieldProps) {
  const { id, kind, url, thumbnailUrl, alt } = file
  const isVideo = kind === 'video'
  const name = isVideo ? strings.video(no) : strings.image(no)
  return (
    <fieldset aria-label={name} className="min-w-0 rounded-xl border border-line p-3">
      <input type="hidden" name="mediaIds" value={id} />
      <div className={`flex gap-3 ${isVideo ? 'flex-wrap sm:flex-nowrap' : ''}`}>
        {isVideo ? (
          <Video src={url} name={name} className="aspect-video w-full sm:w-56" />
        ) : (
          <img src={thumbnailUrl ?? url} alt="" className="size-20 shrink-0 rounded-lg bg-sunken object-cover" />
        )}
        <div className="min-w-0 flex-1">
          <label htmlFor={`alt-${id}`} className="mb-1 block text-sm font-medium">
            {strings.altText}
          </label>
          <input
            id={`alt-${id}`}
            name={`alt.${id}`}
            value={alt}
            onChange={(event) => onDescribe(event.currentTarget.value)}
            maxLength={1500}
            aria-invalid={problems ? true : undefined}
            aria-describedby={`problems-${id}`}
            placeholder={isVideo ? strings.describeVideo : strings.describeImage}
            className={controlClass}
          />
        </div>
        <button
          type="button"
          onClick={onRemove}
          aria-label={isVideo ? strings.removeVideo(no) : strings.removeImage(no)}
          className="grid size-8 shrink-0 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
        >
          <X aria-hidden className="size-4" />
        </button>
      </div>
      <FieldErrors id={`problems-${id}`} errors={problems} />
    </fieldset>
  )
}
