import { Form, useActionData } from '@remix-run/react'
import { useEffect, useRef, useState } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { Submit } from '../../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../../ui/forms/field.tsx'
import { ChannelChoice } from './channel-choice.tsx'
import type { Composed } from './compose.ts'
import { Counters } from './counters.tsx'
import { When } from './date-time-fields.tsx'
import { MediaChoice } from './media-choice.tsx'
import { composerStrings } from './strings.tsx'
import { type Picked, useUploads } from './uploads.ts'

type Start = { content: string; channelIds: string[]; date: string; time: string }

/** Where a post is written and changed. `post` is null for a new one, `start` what its fields hold at first. */
export function Composer({
  post,
  channels,
  media,
  start,
}: {
  post: Post | null
  channels: Channel[]
  media: Picked[]
  start: Start
}) {
  const answered = useComposed()
  const first = answered?.typed ?? start
  const [text, setText] = useState(first.content)
  const [chosen, setChosen] = useState(first.channelIds)
  const uploads = useUploads(media)
  const problems = answered?.problems ?? {}
  const form = useFirstProblem(answered)
  const going = channels.filter(({ id }) => chosen.includes(id))
  return (
    <Form ref={form} method="post" noValidate className="rounded-2xl border border-line bg-panel shadow-sm">
      {post ? <input type="hidden" name="version" value={post.version} /> : null}
      <div className="space-y-6 p-5 sm:p-6">
        <WholeProblems problems={problems['']} />
        <ChannelChoice channels={channels} chosen={chosen} onChoose={setChosen} problems={problems} />
        <TextField
          text={text}
          onChange={setText}
          onPasteFiles={(files) => void uploads.add(files)}
          channels={going}
          problems={problems.content}
        />
        <MediaChoice uploads={uploads} channels={going} problems={problems} />
        <When start={first} problems={problems} />
      </div>
      <Buttons post={post} isWaiting={uploads.coming > 0} />
    </Form>
  )
}

type TextProps = {
  text: string
  onChange: (text: string) => void
  onPasteFiles: (files: File[]) => void
  channels: Channel[]
  problems: string[] | undefined
}

function TextField({ text, onChange, onPasteFiles, channels, problems }: TextProps) {
  return (
    <div>
      <label htmlFor="content" className="mb-1.5 block text-sm font-medium">
        {composerStrings.text.label}
      </label>
      <textarea
        id="content"
        name="content"
        rows={7}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        onPaste={(event) => onPasteFiles(mediaOf(event.clipboardData.files))}
        aria-invalid={problems ? true : undefined}
        aria-describedby="content-counters content-problems"
        className={`${controlClass} resize-y`}
      />
      <FieldErrors id="content-problems" errors={problems} />
      <Counters channels={channels} text={text} />
    </div>
  )
}

function WholeProblems({ problems }: { problems: string[] | undefined }) {
  if (!problems) return null
  return (
    <div role="alert" tabIndex={-1} data-problem className="rounded-lg bg-bad/10 px-3.5 py-2.5 text-sm text-bad">
      {problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
    </div>
  )
}

// In the order of the keyboard: the button that most people press comes first.
function Buttons({ post, isWaiting }: { post: Post | null; isWaiting: boolean }) {
  const strings = composerStrings.buttons
  const isFixed = post !== null && post.type !== 'draft'
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-b-2xl border-t border-line bg-canvas/60 px-5 py-3.5 sm:px-6">
      {isFixed ? (
        <Submit look="primary" name="intent" value="save" waits={isWaiting}>
          {strings.saveChanges}
        </Submit>
      ) : (
        <>
          <Submit look="primary" name="intent" value="schedule" waits={isWaiting}>
            {strings.schedule}
          </Submit>
          <Submit name="intent" value="now" waits={isWaiting}>
            {strings.publishNow}
          </Submit>
          <Submit name="intent" value="draft" waits={isWaiting}>
            {strings.saveDraft}
          </Submit>
        </>
      )}
      {post ? (
        <Submit look="danger" name="intent" value="cancel" className="sm:ml-auto">
          {isFixed ? strings.unschedule : strings.deleteDraft}
        </Submit>
      ) : null}
      <span role="status" className="w-full text-sm text-muted empty:hidden">
        {isWaiting ? strings.uploading : ''}
      </span>
    </div>
  )
}

function useComposed(): Composed | null {
  const answered = useActionData() as Composed | undefined
  return answered?.intent === 'compose' ? answered : null
}

/** After a refusal the focus is on the first field with a problem. */
function useFirstProblem(answered: Composed | null) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (answered) form.current?.querySelector<HTMLElement>('[data-problem], [aria-invalid="true"]')?.focus()
  }, [answered])
  return form
}

function mediaOf(files: FileList): File[] {
  return [...files].filter(({ type }) => /^(image|video)\//.test(type))
}
