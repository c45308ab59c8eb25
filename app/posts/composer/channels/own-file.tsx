import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { AltField } from '../media/alt-field.tsx'
import { FilePicture } from '../media/file-picture.tsx'
import { composerStrings } from '../strings.tsx'
import type { Picked } from '../uploads.ts'

const strings = composerStrings.own

export type FileProps = {
  file: Picked
  no: number // among all files that the channel can have
  isChosen: boolean
  isWrong: boolean
  onChange: (isChosen: boolean) => void
}

/** A file of the post, which the channel can have too. */
export function SharedFile(props: FileProps) {
  return (
    <Choice
      {...props}
      className="max-w-full rounded-lg border border-line p-1.5 has-[:checked]:border-accent-ink"
      nameClass="max-w-40 truncate text-xs"
    />
  )
}

type OwnFileProps = FileProps & { channel: Channel; onDescribe: (alt: string) => void; problemsId: string }

/** A file that the post does not have. If it is chosen, its alt text is given here. */
export function OwnFile({ channel, onDescribe, problemsId, ...props }: OwnFileProps) {
  const { file, no, isChosen, isWrong } = props
  return (
    <fieldset
      aria-label={strings.file(file.kind === 'video', no)}
      className="flex min-w-0 items-start gap-3 rounded-lg border border-line p-1.5 has-[:checked]:border-accent-ink"
    >
      <Choice {...props} className="min-w-0" nameClass={isChosen ? 'sr-only' : 'truncate text-xs'} />
      {isChosen ? (
        <div className="min-w-0 flex-1 pb-1 pr-1">
          <AltField
            file={file}
            channels={[channel]}
            onDescribe={onDescribe}
            isWrong={isWrong}
            problemsId={problemsId}
            on={channel.id}
          />
        </div>
      ) : null}
    </fieldset>
  )
}

type ChoiceProps = FileProps & { className: string; nameClass: string }

function Choice({ file, no, isChosen, isWrong, onChange, className, nameClass }: ChoiceProps) {
  return (
    <label className={`flex cursor-pointer items-center gap-2 ${className}`}>
      <input
        type="checkbox"
        checked={isChosen}
        onChange={(event) => onChange(event.currentTarget.checked)}
        aria-invalid={isWrong ? true : undefined}
        className="size-4 shrink-0 accent-accent"
      />
      <FilePicture file={file} className="size-10 shrink-0 rounded" playClass="size-4 p-0.5" />
      <span dir="auto" className={nameClass}>
        {file.alt || strings.file(file.kind === 'video', no)}
      </span>
    </label>
  )
}
