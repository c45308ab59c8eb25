import { CircleAlert } from 'lucide-react'
import type { RefObject } from 'react'
import { Button } from '../../../ui/forms/button.tsx'
import { composerStrings } from '../strings.tsx'
import type { Upload, UploadLine } from './upload-line.ts'

const strings = composerStrings.media

const progressClass =
  'appearance-none bg-line indeterminate:bg-accent/50 motion-safe:indeterminate:animate-pulse [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-transparent [&::-webkit-progress-value]:bg-accent'

type Props = { uploads: Upload[]; line: UploadLine; picker: RefObject<HTMLInputElement> }

/** A row for each file that is on its way, and for each that was refused. */
export function UploadRows({ uploads, line, picker }: Props) {
  const forget = (id: number) => {
    line.cancel(id)
    picker.current?.focus()
  }
  return (
    <>
      {uploads.length > 0 ? (
        <ul aria-label={strings.uploads} className="space-y-2">
          {uploads.map((upload) => (
            <li key={upload.id} className="rounded-xl border border-line p-3 text-sm">
              {upload.problem === null ? (
                <UnderWay upload={upload} onCancel={() => forget(upload.id)} />
              ) : (
                <Refused
                  upload={upload}
                  onTryAgain={() => line.tryAgain(upload.id)}
                  onRemove={() => forget(upload.id)}
                />
              )}
            </li>
          ))}
        </ul>
      ) : null}
      <p role="status" className="sr-only">
        {said(uploads)}
      </p>
    </>
  )
}

function UnderWay({ upload: { id, name, sent }, onCancel }: { upload: Upload; onCancel: () => void }) {
  return (
    <div className="flex items-center gap-3">
      <div className="min-w-0 flex-1">
        <div className="flex gap-3">
          <span id={`upload-${id}`} className="min-w-0 flex-1 truncate font-medium">
            {name}
          </span>
          <span className="shrink-0 tabular-nums text-muted">{progressOf(sent)}</span>
        </div>
        <progress
          aria-labelledby={`upload-${id}`}
          {...(sent === null || sent === 1 ? {} : { value: sent })}
          className={`mt-1.5 block h-1.5 w-full overflow-hidden rounded-full ${progressClass}`}
        />
      </div>
      <Button onClick={onCancel} aria-label={strings.cancelThe(name)}>
        {strings.cancel}
      </Button>
    </div>
  )
}

type RefusedProps = { upload: Upload; onTryAgain: () => void; onRemove: () => void }

function Refused({ upload: { name, problem }, onTryAgain, onRemove }: RefusedProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="flex min-w-0 flex-1 basis-60 gap-1.5 text-bad">
        <CircleAlert aria-hidden className="mt-1 size-4 shrink-0" />
        <span className="min-w-0 break-words">{strings.refused(name, problem ?? '')}</span>
      </p>
      <Button onClick={onTryAgain} aria-label={strings.tryAgainWith(name)}>
        {strings.tryAgain}
      </Button>
      <Button onClick={onRemove} aria-label={strings.removeThe(name)}>
        {strings.remove}
      </Button>
    </div>
  )
}

function progressOf(sent: number | null): string {
  if (sent === null) return strings.fetching
  return sent === 1 ? strings.processing : strings.percent(Math.floor(sent * 100))
}

function said(uploads: Upload[]): string {
  const refused = uploads.filter(({ problem }) => problem !== null).length
  const coming = uploads.length - refused
  return [coming > 0 ? strings.uploading(coming) : '', refused > 0 ? strings.refusedCount(refused) : '']
    .join(' ')
    .trim()
}
