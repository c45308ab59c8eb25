import { controlClass, FieldErrors } from '../../ui/forms/control.tsx'
import { composerStrings } from './strings.tsx'

const strings = composerStrings.tags

type Props = { tags: string; onChange: (tags: string) => void; problems: string[] | undefined }

/** The tags of a post, which only its organisation sees. */
export function TagsField({ tags, onChange, problems }: Props) {
  return (
    <div>
      <label htmlFor="tags" className="mb-1.5 block text-sm font-medium">
        {strings.label}
      </label>
      <input
        id="tags"
        name="tags"
        dir="auto"
        value={tags}
        onChange={(event) => onChange(event.currentTarget.value)}
        aria-invalid={problems ? true : undefined}
        aria-describedby="tags-hint tags-problems"
        className={controlClass}
      />
      <p id="tags-hint" className="mt-1.5 text-sm text-muted">
        {strings.hint}
      </p>
      <FieldErrors id="tags-problems" errors={problems} />
    </div>
  )
}
