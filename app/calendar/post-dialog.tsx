import { useLocation, useNavigate } from '@remix-run/react'
import { ListOrdered, X } from 'lucide-react'
import { type SyntheticEvent, useLayoutEffect, useRef, useState } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { textOf } from '../../jobs/networks/text-length.ts'
import { Status } from '../posts/status.tsx'
import { type NamedQueue, nameOf } from '../queues/names.ts'
import { useZone } from '../shell/account.ts'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Alert } from '../ui/alert.tsx'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { controlClass } from '../ui/forms/control.tsx'
import { clockAt } from '../ui/time/time-zone.ts'
import { useAddress } from './address.ts'
import { isMovable } from './moves/movable.ts'
import type { Refused } from './moves/move.ts'
import { MoveFields } from './moves/move-fields.tsx'
import { calendarStrings as strings } from './strings.tsx'

type PostDialogProps = { post: Post; channels: Channel[]; queues: NamedQueue[]; refused: Refused | null }

/** A post of the calendar, and the form that moves it. Without scripts it stands on the page like any other part. */
export function PostDialog({ post, channels, queues, refused }: PostDialogProps) {
  const close = useAddress()()
  const queue = post.queueId ? nameOf(queues, post.queueId) : null
  const names = channels.filter(({ id }) => post.channelIds.includes(id)).map(({ name }) => name)
  return (
    <Modal closed={close}>
      <div className="flex items-start gap-3">
        <h2 id="calendar-post" className="min-w-0 flex-1 text-lg font-semibold">
          {post.date ? <Instant at={post.date} /> : null}
        </h2>
        <ButtonLink to={close} look="quiet" preventScrollReset aria-label={strings.post.close} className="px-2">
          <X aria-hidden />
        </ButtonLink>
      </div>
      <p dir="auto" className="mt-2 line-clamp-6 whitespace-pre-wrap break-words">
        {textOf(post) || strings.noText}
      </p>
      <p className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        <Status of={post.status} />
        {names.length > 0 ? <span className="min-w-0 break-words">{strings.on(names)}</span> : null}
        {post.queueId ? (
          <span className="flex min-w-0 items-center gap-1 break-words">
            <ListOrdered aria-hidden className="size-4 shrink-0" />
            {strings.queue.in(queue)}
          </span>
        ) : null}
      </p>
      <MoveForm key={post.version} post={post} queue={queue} refused={refused} />
      <div className="mt-4">
        <ButtonLink to={`/posts/${post.id}`}>{strings.post.open}</ButtonLink>
      </div>
    </Modal>
  )
}

type MoveFormProps = Pick<PostDialogProps, 'post' | 'refused'> & { queue: string | null }

function MoveForm({ post, queue, refused }: MoveFormProps) {
  const own = useZone()
  const [zone] = useState(own) // of the fields, whatever the person's is by now
  const here = useLocation()
  const { write } = useMay()
  const at = refused ?? (post.date ? clockAt(post.date, zone) : { date: '', time: '' })
  if (!write || !isMovable(post)) return refused ? <Alert className="mt-4">{refused.refused}</Alert> : null
  return (
    <PostForm action={here.pathname + here.search} preventScrollReset className="mt-5 border-t border-line pt-4">
      <h3 className="text-sm font-semibold">{strings.move.title}</h3>
      {refused ? <Alert className="mt-2">{refused.refused}</Alert> : null}
      <MoveFields id={post.id} version={post.version} from={post.date} queueId={post.queueId} />
      <input type="hidden" name="zone" value={zone} />
      <div className="mt-3 grid grid-cols-2 gap-3">
        <MoveField name="date" label={strings.move.date} value={at.date} />
        <MoveField name="time" label={strings.move.time} value={at.time} />
      </div>
      <p className="mt-1.5 text-sm text-muted">{zone}</p>
      {post.queueId ? <p className="mt-1.5 text-sm text-muted">{strings.move.leaves(queue)}</p> : null}
      <Submit look="primary" className="mt-4">
        {strings.move.submit}
      </Submit>
    </PostForm>
  )
}

function MoveField({ name, label, value }: { name: 'date' | 'time'; label: string; value: string }) {
  return (
    <div>
      <label htmlFor={`move-${name}`} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      <input id={`move-${name}`} type={name} name={name} defaultValue={value} required className={controlClass} />
    </div>
  )
}

// Modal as soon as scripts run. The browser gives the focus back to what had it when the dialog closes.
function Modal({ closed, children }: { closed: string; children: React.ReactNode }) {
  const box = useRef<HTMLDialogElement>(null)
  const navigate = useNavigate()
  useLayoutEffect(() => {
    const dialog = box.current
    dialog?.close()
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const leave = (event: SyntheticEvent) => {
    event.preventDefault()
    navigate(closed, { preventScrollReset: true })
  }
  return (
    <dialog
      ref={box}
      open
      aria-labelledby="calendar-post"
      onCancel={leave}
      className="m-auto w-[calc(100%-2rem)] max-w-md rounded-2xl border border-line bg-panel p-5 text-ink shadow-xl backdrop:bg-black/50 sm:p-6"
    >
      {children}
    </dialog>
  )
}
