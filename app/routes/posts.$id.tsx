import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData, useLocation } from '@remix-run/react'
import { v7 as uuidv7 } from 'uuid'
import type { Post } from '../../jobs/ledger/post-view.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, formOf, problemOf, shown, signedIn } from '../api.ts'
import { Attempts } from '../posts/attempts.tsx'
import { compose, composerIntents } from '../posts/composer/compose.ts'
import { Composer } from '../posts/composer/composer.tsx'
import { Deliveries } from '../posts/deliveries.tsx'
import { useLivePosts } from '../posts/live.ts'
import { PostHead } from '../posts/post-head.tsx'
import { PostShown } from '../posts/post-shown.tsx'
import { postStrings } from '../posts/strings.tsx'
import { LeftText } from '../posts/working-copy/notices.tsx'
import { startOf } from '../posts/working-copy/start.ts'
import { useMay } from '../shell/permissions.ts'
import { Notice } from '../ui/notice.tsx'
import { clockAt, nextHour } from '../ui/time-zone.ts'

export const meta: MetaFunction = () => [{ title: postStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const id = args.params.id!
  const [post, media, attempts, channels, gone] = await Promise.all([
    shown(api.posts.get({ id })),
    api.media.ofPost({ postId: id }),
    shown(api.posts.attempts({ id, limit: 100 })),
    allChannels(api),
    allChannels(api, 'DISCONNECTED'),
  ])
  const clock = post.date ? clockAt(post.date, member.timeZone) : nextHour(member.timeZone)
  const untouched = { content: post.content, channelIds: post.channelIds, media, ...clock }
  const isOpen = mayChange(post)
  const begun = isOpen ? await startOf(api, { id, isNew: false, postVersion: post.version, untouched }) : null
  const left = isOpen ? null : await shown(api.workingCopies.get({ id }))
  const done = new URL(args.request.url).searchParams.get('said') ?? ''
  const isStale = post.status === 'PUBLISHED' && done !== 'published' // the sentence is out of date
  const said = isStale ? null : (sentences[done] ?? null)
  return json({ post, channels, gone, media, attempts: attempts.data, untouched, begun, left, said })
}

const sentences: Record<string, string> = postStrings.done

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const id = args.params.id!
  const form = formOf(args.context)
  const intent = String(form.get('intent'))
  if (intent === 'copy-as-new') return redirect(`/posts/new?copy=${await shown(asNew(api, id))}`)
  if (intent === 'copy-discard') return redirect(await shown(discarded(api, id)))
  if (composerIntents.includes(intent)) return compose(api, form, member.timeZone, await shown(api.posts.get({ id })))
  try {
    const isGone = await decide(api, id, intent, form)
    return redirect(isGone ? '/?removed' : `/posts/${id}?said=${intent}`)
  } catch (error) {
    const { detail, errors, status } = problemOf(error)
    return json({ intent, problem: errors[0]?.message ?? detail, channelId: form.get('channelId') }, status)
  }
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

/** Do what a button of the page asks. True when the post was deleted. */
async function decide(api: Api, id: string, intent: string, form: FormData): Promise<boolean> {
  if (intent === 'cancel') {
    const { status } = await api.posts.get({ id })
    await api.posts.cancel({ id })
    return status === 'DRAFT'
  }
  if (intent === 'retry') await api.posts.retry({ id })
  else {
    const typed = form.get('url')
    const url = intent === 'published' && typed ? { url: String(typed) } : {}
    const resolution = { id, channelId: String(form.get('channelId')), outcome: intent, ...url }
    await api.posts.resolve(resolution as Parameters<Api['posts']['resolve']>[0])
  }
  return false
}

export default function ShowPost() {
  const { post, channels, gone, media, attempts, untouched, begun, left, said } = useLoaderData<typeof loader>()
  const { write } = useMay()
  const { key } = useLocation() // the same sentence is announced again after the next press
  useLivePosts([post])
  const isEditable = write && begun !== null
  // A disconnected channel stays a choice of the posts that wait for it.
  const choice = [...channels, ...gone.filter(({ id }) => post.channelIds.includes(id))]
  const waits = channels.some(({ id, status }) => status === 'PAUSED' && post.channelIds.includes(id))
  const isQuiet =
    !waits && post.deliveries.every(({ status, error }) => !error && ['DRAFT', 'SCHEDULED'].includes(status))
  return (
    <>
      {said ? <Notice key={key}>{said}</Notice> : null}
      {left && write ? <LeftText content={left.content} mediaIds={left.mediaIds} /> : null}
      <PostHead post={post} isEditable={isEditable} />
      <div className="space-y-6">
        {isQuiet && isEditable ? null : <Deliveries post={post} channels={[...channels, ...gone]} />}
        {isEditable ? (
          <Composer key={post.id} post={post} channels={choice} untouched={untouched} {...begun} />
        ) : (
          <PostShown post={post} media={media} />
        )}
        <Attempts attempts={attempts} channels={[...channels, ...gone]} />
      </div>
    </>
  )
}

function mayChange({ status, deliveries }: Post): boolean {
  const open = ['DRAFT', 'SCHEDULED', 'HELD', 'CANCELLED']
  return status !== 'CANCELLED' && deliveries.every((delivery) => open.includes(delivery.status))
}
