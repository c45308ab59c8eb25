import { ChevronDown, ChevronUp, GripVertical, type LucideIcon, X } from 'lucide-react'
import type { HTMLAttributes } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { FieldErrors } from '../../../ui/forms/control.tsx'
import { Video } from '../../../ui/video.tsx'
import { composerStrings } from '../strings.tsx'
import type { Picked } from '../uploads.ts'
import { AltField } from './alt-field.tsx'

const strings = composerStrings.media

type Props = {
  file: Picked
  index: number
  count: number
  channels: Channel[]
  handle: HTMLAttributes<HTMLElement> // of the part that it is dragged by
  onDescribe: (alt: string) => void
  onMove: (to: number) => void
  onRemove: () => void
  problems: string[] | undefined
}

/** One file of the post: its picture, its alt text, its place among the others. */
export function MediaField({ file, index, count, channels, handle, onDescribe, onMove, onRemove, problems }: Props) {
  const { id, kind, url, thumbnailUrl } = file
  const isVideo = kind === 'video'
  const name = isVideo ? strings.video(index + 1) : strings.image(index + 1)
  return (
    <fieldset aria-label={name} className="min-w-0 rounded-xl border border-line bg-panel p-3">
      <input type="hidden" name="mediaIds" value={id} />
      <div className={`flex gap-3 ${isVideo ? 'flex-wrap sm:flex-nowrap' : ''}`}>
        {count > 1 ? <Handle {...handle} /> : null}
        {isVideo ? (
          <Video src={url} name={name} className="aspect-video w-full sm:w-56" />
        ) : (
          <img src={thumbnailUrl ?? url} alt="" className="size-20 shrink-0 rounded-lg bg-sunken object-cover" />
        )}
        <div className="min-w-0 flex-1">
          <AltField
            file={file}
            channels={channels}
            onDescribe={onDescribe}
            isWrong={problems !== undefined}
            problemsId={`problems-${id}`}
          >
            {count > 1 ? <Places id={id} name={name} index={index} count={count} onMove={onMove} /> : null}
            <Small
              icon={X}
              label={isVideo ? strings.removeVideo(index + 1) : strings.removeImage(index + 1)}
              onPress={onRemove}
            />
          </AltField>
        </div>
      </div>
      <FieldErrors id={`problems-${id}`} errors={problems} />
    </fieldset>
  )
}

// For pointers only: the buttons do the same for keys.
function Handle(handle: HTMLAttributes<HTMLElement>) {
  return (
    <span
      {...handle}
      aria-hidden
      data-handle
      className="scripted -ml-1 flex shrink-0 cursor-grab touch-none items-center rounded text-muted hover:bg-sunken active:cursor-grabbing"
    >
      <GripVertical className="size-5" />
    </span>
  )
}

type PlacesProps = { id: string; name: string; index: number; count: number; onMove: (to: number) => void }

// The first and the last keep both buttons, so that the focus has a place to stay.
function Places({ id, name, index, count, onMove }: PlacesProps) {
  return (
    <>
      <Small
        id={`earlier-${id}`}
        icon={ChevronUp}
        label={strings.moveUp(name)}
        isOff={index === 0}
        onPress={() => onMove(index - 1)}
      />
      <Small
        id={`later-${id}`}
        icon={ChevronDown}
        label={strings.moveDown(name)}
        isOff={index === count - 1}
        onPress={() => onMove(index + 1)}
      />
    </>
  )
}

type SmallProps = { id?: string; icon: LucideIcon; label: string; isOff?: boolean; onPress: () => void }

function Small({ id, icon: Icon, label, isOff = false, onPress }: SmallProps) {
  return (
    <button
      id={id}
      type="button"
      onClick={isOff ? undefined : onPress}
      aria-label={label}
      aria-disabled={isOff || undefined}
      className="grid size-8 shrink-0 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink aria-disabled:opacity-40 aria-disabled:hover:bg-transparent"
    >
      <Icon aria-hidden className="size-4" />
    </button>
  )
}
