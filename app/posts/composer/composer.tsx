import { Form, useActionData, useNavigation, useSubmit } from '@remix-run/react'
import { type FormEvent, useEffect, useMemo, useRef } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { FixedDate, type Resend, SettledField } from '../resend.tsx'
import type { CopyStart } from '../working-copy/autosave.ts'
import { type Fields, fieldsOf, typedOf } from '../working-copy/fields.ts'
import { CopyNotices } from '../working-copy/notices.tsx'
import { SaveStatus } from '../working-copy/save-status.tsx'
import { type Saving, useBrowserEffect, useWorkingCopy } from '../working-copy/use-working-copy.ts'
import { Buttons, savingButton } from './buttons.tsx'
import { ChannelChoice } from './channels/channel-choice.tsx'
import { withOwn } from './channels/overrides.ts'
import { CheckStatus } from './checks/check-status.tsx'
import { type Problems, problemsIn, together, useVerdicts } from './checks/checks.ts'
import type { Composed } from './compose.ts'
import { HiddenFields } from './hidden-fields.tsx'
import { Keys } from './keys.tsx'
import { MediaChoice } from './media-choice.tsx'
import { PreviewPanel, type Previews } from './preview/preview-panel.tsx'
import { TagsField } from './tags-field.tsx'
import { TextField } from './text-field.tsx'
import { isSame, type Typed } from './typed.ts'
import { useFields } from './use-fields.ts'
import { When } from './when/when.tsx'

type ComposerProps = {
  post: Post | null // null for a new one
  channels: Channel[]
  copy: CopyStart
  start: Fields // what the form holds at first
  untouched: Fields // the same without the copy
  previews: Previews
  resend?: Resend | null
}

/** Where a post is written and changed. What is typed is saved while it is typed. */
export function Composer({ post, channels, copy, start, untouched, previews, resend = null }: ComposerProps) {
  const answered = useComposed()
  const form = useFirstProblem(answered)
  const first = answered ? fieldsOf(answered.typed, start.files, untouched) : start
  const writing = useFields(first)
  const { fields, set, replace } = writing
  const saving = useWorkingCopy({ form, copy, fields, untouched, replace })
  const notices = useRef<HTMLDivElement>(null)
  const send = useSending(saving, post, writing, { untouched, onHindered: () => notices.current?.focus() })
  const going = useChosen(channels, fields.channelIds)
  const verdicts = useVerdicts(going, fields)
  const problems = together(saidOf(answered, fields), problemsIn(verdicts, fields))
  return (
    <div className="xl:grid xl:grid-cols-[minmax(0,1fr)_21rem] xl:items-start xl:gap-6">
      <div className="min-w-0">
        <div ref={notices} tabIndex={-1}>
          <CopyNotices post={post} channels={channels} saving={saving} untouched={untouched} replace={replace} />
        </div>
        <Form
          ref={form}
          method="post"
          onSubmit={send}
          noValidate
          autoComplete="off" // or a reload brings back what this tab had, over a newer text of another tab
          className="group/form relative rounded-2xl border border-line bg-panel shadow-sm"
        >
          <Keys />
          <HiddenFields
            saving={saving}
            fields={fields}
            shown={going}
            version={saving.current.postVersion ?? post?.version}
          />
          <SettledField resend={resend} />
          <div className="space-y-6 p-5 sm:p-6">
            <WholeProblems problems={problems['']} />
            <Content writing={writing} channels={channels} going={going} problems={problems} />
            {resend?.isDateFixed ? (
              <FixedDate {...untouched} problems={problems.date} />
            ) : (
              <When
                wall={{ date: fields.date, time: fields.time }}
                zone={fields.zone}
                isSuggested={fields.isDateSuggested}
                onChange={set}
                onSuggest={writing.suggest}
                problems={problems}
              />
            )}
            <TagsField tags={fields.tags} onChange={(tags) => set({ tags })} problems={problems.tags} />
          </div>
          <CheckStatus verdicts={verdicts} />
          <Buttons post={post} resend={resend} isWaiting={writing.uploads.coming > 0} />
        </Form>
        <SaveStatus state={saving.state} button={savingButton(post, resend)} />
      </div>
      <PreviewPanel verdicts={verdicts} previews={previews} />
    </div>
  )
}

type Writing = ReturnType<typeof useFields>

type ContentProps = {
  writing: Writing
  channels: Channel[]
  going: Channel[] // the chosen ones
  problems: Problems
}

/** Text, media and channels, and what a channel has of its own. */
function Content({ writing: { fields, set, media, uploads }, channels, going, problems }: ContentProps) {
  return (
    <>
      <TextField
        text={fields.content}
        onChange={(content) => set({ content })}
        channels={going.filter(({ id }) => !hasOwnText(fields, id))}
        problems={problems.content}
      />
      <MediaChoice media={fields.media} changes={media} uploads={uploads} channels={going} problems={problems} />
      <ChannelChoice
        channels={channels}
        fields={fields}
        uploads={uploads}
        onChoose={(channelIds) => set({ channelIds })}
        onOwn={(channelId, own) => set({ overrides: withOwn(fields.overrides, channelId, own) })}
        onDescribe={media.describe}
        problems={problems}
      />
    </>
  )
}

function useChosen(channels: Channel[], channelIds: string[]): Channel[] {
  return useMemo(() => channels.filter(({ id }) => channelIds.includes(id)), [channels, channelIds])
}

// The fields Date and Time still say what they said before words that are not understood. The field says so when it is left.
function isTimeMisread(form: HTMLFormElement, button: HTMLButtonElement | null): boolean {
  const field = form.querySelector<HTMLElement>('[data-misread]')
  if (!field || !['schedule', 'save'].includes(button?.value ?? '')) return false
  field.focus()
  field.blur()
  field.focus()
  return true
}

type Sending = { untouched: Fields; onHindered: () => void } // `onHindered`: a notice above the form asks something first

// A form is sent once its copy is saved: after that, whatever happens to the request, nothing is lost.
function useSending(
  saving: Saving,
  post: Post | null,
  writing: Writing,
  { untouched, onHindered }: Sending,
): (event: FormEvent<HTMLFormElement>) => void {
  const submit = useSubmit()
  const { state } = useNavigation()
  const answer = useActionData()
  const answerBefore = useRef(answer)
  const isSending = useRef(false)
  const sent = useRef<Fields>(untouched)
  const formSent = useRef<HTMLFormElement | null>(null)

  // A refusal counts at once. The page is read again after it, and a press during that is meant.
  useBrowserEffect(() => {
    const isRefused = answer !== undefined && answer !== answerBefore.current
    if (!isSending.current || (state !== 'idle' && !isRefused)) return
    isSending.current = false
    if (formSent.current) holdFields(formSent.current, false)
    if (!isRefused) writing.takeSaved(sent.current, untouched)
    saving.goOn(isRefused ? {} : { revision: 0, postVersion: post?.version ?? null })
  }, [state, answer])

  return (event) => {
    const button = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null
    const form = event.currentTarget
    if (isTimeMisread(form, button)) return event.preventDefault()
    const isAgain = isSending.current
    isSending.current = true
    sent.current = writing.fields
    formSent.current = form
    answerBefore.current = answer
    if (button?.value === 'cancel') return saving.pause()
    event.preventDefault()
    if (isAgain) return
    void saving.flush().then(({ is }) => {
      isSending.current = ['saved', 'refused', 'too-many'].includes(is) // then the action says why
      if (!isSending.current) return is === 'away' ? undefined : onHindered()
      saving.pause()
      if (!post) holdFields(form, true)
      submit(button ?? form)
    })
  }
}

// A new post goes to a page of its own: what is typed until then would belong to nothing.
function holdFields(form: HTMLFormElement, isHeld: boolean): void {
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('textarea, input'))
    field.readOnly = isHeld
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

// What the server said about a text and its media counts until they change: the checks on this page say the rest. What it
// said about the date, the channels or the tags counts until these change.
function saidOf(answered: Composed | null, fields: Fields): Problems {
  if (!answered) return {}
  const typed = typedOf(fields)
  if (isSame(answered.typed, typed)) return answered.problems
  const rest = Object.entries(answered.problems).map(([field, sentences]) => [
    field,
    isAnotherNow(field, answered.typed, typed)
      ? []
      : sentences.filter((sentence) => !answered.checked.includes(sentence)),
  ])
  return Object.fromEntries(rest.filter(([, sentences]) => sentences!.length > 0))
}

const toldBeside: Partial<Record<string, (keyof Typed)[]>> = {
  date: ['date', 'time'],
  time: ['date', 'time'],
  channelIds: ['channelIds'],
  tags: ['tags'],
}

function isAnotherNow(field: string, before: Typed, now: Typed): boolean {
  return (toldBeside[field] ?? []).some((name) => String(before[name]) !== String(now[name]))
}

function hasOwnText({ overrides }: Fields, channel: string): boolean {
  return overrides.some(({ channelId, content }) => channelId === channel && content !== undefined)
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
