import { Form, useActionData, useNavigation, useSubmit } from '@remix-run/react'
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { Submit } from '../../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../../ui/forms/control.tsx'
import type { CopyStart } from '../working-copy/autosave.ts'
import { type Fields, fieldsOf } from '../working-copy/fields.ts'
import { CopyNotices } from '../working-copy/notices.tsx'
import { SaveStatus } from '../working-copy/save-status.tsx'
import { type Saving, useBrowserEffect, useWorkingCopy } from '../working-copy/use-working-copy.ts'
import { ChannelChoice } from './channel-choice.tsx'
import type { Composed } from './compose.ts'
import { Counters } from './counters.tsx'
import { When } from './date-time-fields.tsx'
import { MediaChoice } from './media-choice.tsx'
import { composerStrings } from './strings.tsx'
import { useUploads } from './uploads.ts'

type ComposerProps = {
  post: Post | null // null for a new one
  channels: Channel[]
  copy: CopyStart
  start: Fields // what the form holds at first
  untouched: Fields // the same without the copy
}

/** Where a post is written and changed. What is typed is saved while it is typed. */
export function Composer({ post, channels, copy, start, untouched }: ComposerProps) {
  const answered = useComposed()
  const form = useFirstProblem(answered)
  const { fields, set, uploads, replace } = useFields(answered ? fieldsOf(answered.typed, start.media) : start)
  const saving = useWorkingCopy({ form, copy, fields, untouched, replace })
  const send = useSending(saving, post)
  const problems = answered?.problems ?? {}
  const going = channels.filter(({ id }) => fields.channelIds.includes(id))
  const version = saving.current.postVersion ?? post?.version
  return (
    <>
      <CopyNotices post={post} saving={saving} untouched={untouched} replace={replace} />
      <Form
        ref={form}
        method="post"
        onSubmit={send}
        noValidate
        autoComplete="off" // or a reload brings back what this tab had, over a newer text of another tab
        className="rounded-2xl border border-line bg-panel shadow-sm"
      >
        <input type="hidden" name="forOrganisation" value={saving.organisationId} />
        <input type="hidden" name="copy" value={saving.current.id} />
        {version ? <input type="hidden" name="version" value={version} /> : null}
        <div className="space-y-6 p-5 sm:p-6">
          <WholeProblems problems={problems['']} />
          <ChannelChoice
            channels={channels}
            chosen={fields.channelIds}
            onChoose={(channelIds) => set({ channelIds })}
            problems={problems}
          />
          <TextField
            text={fields.content}
            onChange={(content) => set({ content })}
            onPasteFiles={(files) => void uploads.add(files)}
            channels={going}
            problems={problems.content}
          />
          <MediaChoice uploads={uploads} channels={going} problems={problems} />
          <When date={fields.date} time={fields.time} onChange={set} problems={problems} />
        </div>
        <Buttons post={post} isWaiting={uploads.coming > 0} />
      </Form>
      <SaveStatus state={saving.state} />
    </>
  )
}

type Written = Omit<Fields, 'media'>

function useFields(first: Fields) {
  const { media, ...start } = first
  const [written, setWritten] = useState<Written>(start)
  const uploads = useUploads(media)
  const fields = useMemo(() => ({ ...written, media: uploads.media }), [written, uploads.media])
  const set = (change: Partial<Written>) => setWritten((before) => ({ ...before, ...change }))
  const replace = ({ media, ...written }: Fields) => {
    setWritten(written)
    uploads.replace(media)
  }
  return { fields, set, uploads, replace }
}

// A form is sent once its copy is saved: after that, whatever happens to the request, nothing is lost.
function useSending(saving: Saving, post: Post | null): (event: FormEvent<HTMLFormElement>) => void {
  const submit = useSubmit()
  const { state } = useNavigation()
  const isRefused = useActionData() !== undefined
  const isSending = useRef(false)

  useBrowserEffect(() => {
    if (state !== 'idle' || !isSending.current) return
    isSending.current = false
    saving.goOn(isRefused ? {} : { revision: 0, postVersion: post?.version ?? null })
  }, [state])

  return (event) => {
    const button = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null
    const form = event.currentTarget
    const isAgain = isSending.current
    isSending.current = true
    if (button?.value === 'cancel') return saving.pause()
    event.preventDefault()
    if (isAgain) return
    void saving.flush().then(({ is }) => {
      isSending.current = is === 'saved' || is === 'refused' // then the action says why
      if (!isSending.current) return
      saving.pause()
      submit(button ?? form)
    })
  }
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
