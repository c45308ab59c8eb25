import { Link, useActionData } from '@remix-run/react'
import { CopyPlus } from 'lucide-react'
import type { Post } from '../../jobs/ledger/post-view.ts'
import type { NamedQueue } from '../queues/names.ts'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Alert } from '../ui/alert.tsx'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Status } from './status.tsx'
import { postStrings } from './strings.tsx'

type HeadProps = { post: Post; queue: NamedQueue | null; isEditable: boolean }

/** The heading of a post: its date, author, queue and status, with the buttons that act on all of it. */
export function PostHead({ post, queue, isEditable }: HeadProps) {
  return (
    <div className="mb-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="flex items-center gap-3">
          <h1 tabIndex={-1} className="text-2xl font-semibold tracking-tight">
            {post.status === 'DRAFT' ? postStrings.draftTitle : postStrings.title}
          </h1>
          <span role="status">
            <Status of={post.status} />
          </span>
        </div>
        <Actions post={post} isEditable={isEditable} />
      </div>
      <p className="mt-1.5 text-muted">
        <DateAndAuthor post={post} />
        {queue ? <> · {postStrings.fromQueue(<QueueLink queue={queue} />)}</> : null}
      </p>
      {post.status === 'CANCELLED' ? <p className="mt-1 text-sm text-muted">{postStrings.isCancelled}</p> : null}
      <Problem status={post.status} />
    </div>
  )
}

function DateAndAuthor({ post: { date, createdBy } }: { post: Post }) {
  const shown = date ? <Instant at={date} /> : postStrings.noDate
  return createdBy.kind === 'api_key'
    ? postStrings.dateAndKey(shown, createdBy.name)
    : postStrings.dateAndAuthor(shown, createdBy.name)
}

function QueueLink({ queue: { id, name } }: { queue: NamedQueue }) {
  return (
    <Link to={`/queues/${id}`} prefetch="intent" className="break-words underline underline-offset-2">
      {name}
    </Link>
  )
}

function Actions({ post, isEditable }: { post: Post; isEditable: boolean }) {
  const { write } = useMay()
  if (!write) return null
  const may = (...statuses: string[]) => post.deliveries.some(({ status }) => statuses.includes(status))
  return (
    <PostForm className="flex flex-wrap gap-2">
      {may('FAILED') ? (
        <Submit look={isEditable ? 'plain' : 'primary'} name="intent" value="retry">
          {postStrings.retry}
        </Submit>
      ) : null}
      {may('FAILED', 'SCHEDULED', 'HELD') && !isEditable ? ( // the composer has a button of its own
        <>
          <input type="hidden" name="type" value={post.type} />
          <Submit look="danger" name="intent" value="cancel">
            {may('SCHEDULED', 'HELD') ? postStrings.unschedule : postStrings.cancel}
          </Submit>
        </>
      ) : null}
      <ButtonLink to={`/posts/new?from=${post.id}`}>
        <CopyPlus aria-hidden />
        {postStrings.duplicate}
      </ButtonLink>
    </PostForm>
  )
}

// Only while the post is in the state that the refusal was about.
function Problem({ status }: { status: Post['status'] }) {
  const answered = useActionData() as { problem?: string; at: Post['status'] | null } | undefined
  if (!answered?.problem || (answered.at && answered.at !== status)) return null
  return <Alert className="mt-3">{answered.problem}</Alert>
}
