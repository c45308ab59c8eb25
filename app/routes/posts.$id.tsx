import {
  type ActionFunctionArgs,
  json,
  type LoaderFunctionArgs,
  type MetaFunction,
  redirect,
  type SerializeFrom,
} from '@remix-run/node'
import { useActionData, useLoaderData, useLocation } from '@remix-run/react'
import { v7 as uuidv7 } from 'uuid'
import type { Post, PostStatus } from '../../jobs/ledger/post-view.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, formOf, problemOf, shown, signedIn } from '../api.ts'
import { Attempts } from '../posts/attempts.tsx'
import { type Composed, compose, composerIntents } from '../posts/composer/compose.ts'
import { Composer } from '../posts/composer/composer.tsx'
import { typedIn } from '../posts/composer/typed.ts'
import { Deliveries } from '../posts/deliveries.tsx'
import { useLivePosts } from '../posts/live.ts'
import { PostHead } from '../posts/post-head.tsx'
import { KeptParts, PostShown } from '../posts/post-shown.tsx'
import { publishedOn, resendOf, settledIn, withPublished } from '../posts/resend.tsx'
import { postStrings } from '../posts/strings.tsx'
import { UndoUnschedule } from '../posts/undo.tsx'
import { LeftText } from '../posts/working-copy/notices.tsx'
import { startOf, withOwnFiles } from '../posts/working-copy/start.ts'
import { namedQueue, queueChoices } from '../queues/choices.ts'
import { useMay } from '../shell/permissions.ts'
import type { Handle } from '../shell/shell.tsx'
import { Done } from '../ui/done.tsx'
import { clockAt, nextHour, zoneIn } from '../ui/time/time-zone.ts'
import { Warning } from '../ui/warning.tsx'

export const handle: Handle = {
  composes: (data) => (data as SerializeFrom<typeof loader>).begun !== null,
}

export const meta: MetaFunction = () => [{ title: postStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const id = args.params.id!
  const reading = shown(api.posts.get({ id }))
  const [post, media, attempts, previews, channels, gone] = await Promise.all([
    reading,
    api.media.ofPost({ postId: id }),
    // After the post: a page that shows a published post is not read again, and would keep an attempt that had not ended.
    reading.then(() => shown(api.posts.attempts({ id, limit: 100 }))),
    api.channels.previews(),
    allChannels(api),
    allChannels(api, 'DISCONNECTED'),
  ])
  const zone = member.timeZone
  const clock = { ...(post.date ? clockAt(post.date, zone) : nextHour(zone)), zone }
  const published = publishedOn(post)
  const channelIds = post.channelIds.filter((id) => !published.includes(id))
  const files = await withOwnFiles(api, media, post.overrides)
  const overrides = post.overrides.filter(({ channelId }) => !published.includes(channelId))
  const tags = post.tags.join(', ')
  const isDateSuggested = post.date === null
  const fields = { content: post.content, channelIds, overrides, tags, media, files, ...clock, isDateSuggested }
  const isOpen = mayChange(post)
  const begun = isOpen ? await startOf(api, { id, isNew: false, postVersion: post.version, fields }) : null
  const queues = isOpen && post.type === 'draft' ? await queueChoices(api) : []
  const left = isOpen ? null : await shown(api.workingCopies.get({ id }))
  const query = new URL(args.request.url).searchParams
  const [queue, queueMissed, queueLeft] = await Promise.all([
    namedQueue(api, post.queueId),
    namedQueue(api, query.get('missed')),
    query.get('left') === post.queueId ? null : namedQueue(api, query.get('left')),
  ])
  const done = query.get('said') ?? ''
  const undo = done === 'unschedule' ? cancelledOf(post, query.getAll('on')) : []
  const said = isTrueOf(done, post, undo) ? (sentences[done] ?? null) : null
  const shownParts = { post, previews, channels, gone, media, files, attempts: attempts.data }
  return json({ ...shownParts, begun, left, said, undo, queue, queueMissed, queueLeft, queues })
}

const sentences: Record<string, string> = postStrings.done

const trueOf: Record<string, PostStatus[]> = {
  schedule: ['SCHEDULED', 'HELD'],
  'schedule-again': ['SCHEDULED', 'HELD'],
  queue: ['SCHEDULED', 'HELD'],
  now: ['SCHEDULED', 'PUBLISHING'],
  retry: ['SCHEDULED', 'PUBLISHING'],
  not_published: ['SCHEDULED', 'PUBLISHING'],
  draft: ['DRAFT'],
  restore: ['DRAFT'],
  cancel: ['CANCELLED'],
}

// The router keeps the sentence while the page is open, and the post goes on to other states.
function isTrueOf(done: string, { status }: Post, undo: string[]): boolean {
  if (done === 'unschedule') return undo.length > 0
  return trueOf[done]?.includes(status) ?? (status !== 'PUBLISHED' || done === 'published')
}

// The channels of `wanted` on which Undo can schedule the post again.
function cancelledOf({ deliveries }: Post, wanted: string[]): string[] {
  const cancelled = deliveries.filter(({ status, channelId }) => status === 'CANCELLED' && wanted.includes(channelId))
  return cancelled.map(({ channelId }) => channelId)
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const id = args.params.id!
  const form = formOf(args.context)
  const intent = String(form.get('intent'))
  if (intent === 'copy-as-new') return redirect(`/posts/new?copy=${await shown(asNew(api, id))}`)
  if (intent === 'copy-discard') return redirect(await shown(discarded(api, id)))
  if (composerIntents.includes(intent)) {
    const before = await shown(api.posts.get({ id }))
    const answer = await changed(api, form, zoneIn(form, member.timeZone), before)
    const to = answer.headers.get('location')
    return to ? redirect(await withQueueLeft(api, before, to)) : answer
  }
  try {
    if (intent === 'cancel') return await cancelled(api, id, form.get('type'))
    return redirect(await decide(api, id, intent, form))
  } catch (error) {
    const { detail, errors, status } = problemOf(error)
    const now = await api.posts.get({ id }).catch(() => null)
    if (now && status === 409) return moved(intent, now)
    return json({ intent, problem: errors[0]?.message ?? detail, at: now?.status ?? null }, status)
  }
}

// The queue that the post was in stands in the address, so that the page can say that the post left it.
async function withQueueLeft(api: Api, { id, queueId }: Post, page: string): Promise<string> {
  if (!queueId) return page
  const now = await api.posts.get({ id }).catch(() => null) // the change is saved, whatever becomes of this
  return !now || now.queueId === queueId ? page : `${page}&left=${queueId}`
}

function moved(intent: string, { status }: Post) {
  return json({ intent, problem: postStrings.isNow(postStrings.statuses[status]), at: status }, 409)
}

/** Change the post as the composer's form says, if its state is still the one that the person saw. */
async function changed(api: Api, form: FormData, zone: string, post: Post) {
  const typed = typedIn(form)
  if (!mayChange(post)) return moved('compose', post)
  if (String(form.get('settled') ?? '') !== settledIn(post)) {
    const answer: Composed = { intent: 'compose', typed, checked: [], problems: { '': [postStrings.resend.moved] } }
    return json(answer, 409)
  }
  form.delete('channelIds')
  for (const id of withPublished(post, typed.channelIds)) form.append('channelIds', id)
  return compose(api, form, zone, post)
}

// The member's text for a post that can no longer be changed becomes the text of a new one. Returns its id.
async function asNew(api: Api, id: string): Promise<string> {
  const copy = await api.workingCopies.get({ id })
  const newId = uuidv7()
  if (!copy) return newId
  const { updatedAt: _, ...typed } = copy
  await api.workingCopies.save({ ...typed, id: newId, isNew: true, revision: 0, postVersion: null })
  await api.workingCopies.discard({ id })
  return newId
}

async function discarded(api: Api, id: string): Promise<string> {
  await api.workingCopies.discard({ id })
  return `/posts/${id}`
}

/** Do what a button of the page asks. Returns where to go on. */
async function decide(api: Api, id: string, intent: string, form: FormData): Promise<string> {
  if (intent === 'schedule-again') return scheduledAgain(api, id, form)
  if (intent === 'restore') await api.posts.restore({ id })
  else if (intent === 'retry') await api.posts.retry({ id })
  else {
    const typed = form.get('url')
    const url = intent === 'published' && typed ? { url: String(typed) } : {}
    const resolution = { id, channelId: String(form.get('channelId')), outcome: intent, ...url }
    await api.posts.resolve(resolution as Parameters<Api['posts']['resolve']>[0])
  }
  return `/posts/${id}?said=${intent}`
}

async function scheduledAgain(api: Api, id: string, form: FormData): Promise<string> {
  const before = await api.posts.get({ id })
  await api.posts.scheduleAgain({ id, channelIds: form.getAll('channelIds').map(String) })
  return withQueueLeft(api, before, `/posts/${id}?said=schedule-again`)
}

// `type`: of the post when the button was shown. The button deletes a draft and unschedules any other post.
async function cancelled(api: Api, id: string, type: FormDataEntryValue | null) {
  const post = await api.posts.get({ id })
  if (type !== null && (type === 'draft') !== (post.type === 'draft')) return moved('cancel', post)
  await api.posts.cancel({ id })
  if (post.type === 'draft') return redirect(`/?removed=${id}`)
  const waiting = post.deliveries.filter(({ status }) => ['SCHEDULED', 'HELD'].includes(status))
  if (waiting.length === 0) return redirect(`/posts/${id}?said=cancel`)
  const query = new URLSearchParams({ said: 'unschedule' })
  for (const { channelId } of waiting) query.append('on', channelId)
  return redirect(`/posts/${id}?${query}`)
}

export default function ShowPost() {
  const { post, previews, channels, gone, media, files, attempts, begun, left } = useLoaderData<typeof loader>()
  const { said, undo, queue, queueMissed, queueLeft } = useLoaderData<typeof loader>()
  const isRefused = useActionData() !== undefined // every other answer of the action leads on
  const { write } = useMay()
  const { key } = useLocation() // the same sentence is announced again after the next press
  useLivePosts([post])
  const isEditable = write && begun !== null
  // A disconnected channel stays a choice of the posts that wait for it.
  const all = [...channels, ...gone]
  const choice = [...channels, ...gone.filter(({ id }) => post.channelIds.includes(id))]
  const published = publishedOn(post)
  const resend = resendOf(post, all)
  const waits = channels.some(({ id, status }) => status === 'PAUSED' && post.channelIds.includes(id))
  const isQuiet =
    !waits && post.deliveries.every(({ status, error }) => !error && ['DRAFT', 'SCHEDULED'].includes(status))
  return (
    <>
      {said && !isRefused ? (
        <Done key={key} params={['said', 'on', 'missed', 'left']} hasUndo={undo.length > 0}>
          {said} {queueMissed && !queue ? postStrings.missedQueue(queueMissed.name) : null}
          {queueLeft ? postStrings.leftQueue(queueLeft.name) : null}{' '}
          {undo.length > 0 && write ? <UndoUnschedule channelIds={undo} /> : null}
        </Done>
      ) : null}
      {left && write ? <LeftText copy={left} channels={all} /> : null}
      <PostHead post={post} queue={queue} isEditable={isEditable} />
      <div className="space-y-6">
        {isQuiet && isEditable ? null : <Deliveries post={post} channels={all} />}
        {isEditable ? (
          <div>
            {resend ? <Warning>{resend.says}</Warning> : null}
            <KeptParts post={post} on={published} files={files} channels={all} />
            <Composer
              key={post.id}
              post={post}
              channels={choice.filter(({ id }) => !published.includes(id))}
              previews={previews}
              resend={resend}
              {...begun}
            />
          </div>
        ) : (
          <PostShown post={post} media={media} files={files} channels={all} />
        )}
        <Attempts attempts={attempts} channels={all} />
      </div>
    </>
  )
}

// Not while some of it is out and the next channel is about to get it: the composer would come and go.
function mayChange({ status, deliveries }: Post): boolean {
  const isOpen = ['DRAFT', 'SCHEDULED', 'HELD', 'FAILED', 'PARTIALLY_PUBLISHED'].includes(status)
  return isOpen && !deliveries.some((delivery) => ['PUBLISHING', 'NEEDS_REVIEW'].includes(delivery.status))
}
