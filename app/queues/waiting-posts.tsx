import { Link, useSubmit } from '@remix-run/react'
import { ChevronDown, ChevronUp, GripVertical } from 'lucide-react'
import { type DragEvent, useEffect, useRef, useState } from 'react'
import { beginningOf, textOf } from '../../jobs/networks/text-length.ts'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import type { Queue, Waiting } from './queue.ts'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.waiting

/** The posts that wait in a queue, in their order, which dragging and the arrows change. */
export function WaitingPosts({ posts, queue }: { posts: Waiting[]; queue: Pick<Queue, 'id' | 'pausedAt'> }) {
  const { write } = useMay()
  const canMove = write && posts.length > 1
  const moving = useMoving(posts)
  return (
    <section className="rounded-2xl border border-line bg-panel shadow-sm" aria-labelledby="waiting">
      <div className="px-5 py-4 sm:px-6">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
          <h2 id="waiting" className="font-semibold">
            {queue.pausedAt === null ? strings.title : strings.drafts}
          </h2>
          <Link to={`/posts/find?queueId=${queue.id}`} className="text-sm underline underline-offset-2">
            {strings.all}
          </Link>
        </div>
        <p className="mt-1 text-sm text-muted">{posts.length === 0 ? strings.none : canMove ? strings.lead : null}</p>
        <p role="status" className="text-sm text-good empty:hidden">
          {moving.said}
        </p>
      </div>
      <ol ref={moving.list} className="divide-y divide-line border-t border-line empty:hidden">
        {posts.map((post, i) => (
          <li
            key={post.id}
            draggable={canMove}
            {...(canMove ? moving.draggable(i) : {})}
            className="flex items-center gap-3 px-5 py-2.5 data-[over]:bg-accent/10 sm:px-6"
            data-over={moving.over === i || undefined}
          >
            {canMove ? <GripVertical aria-hidden className="size-4 shrink-0 cursor-grab text-muted" /> : null}
            <Post post={post} />
            {canMove ? <Arrows posts={posts} place={i} onMove={moving.remember} /> : null}
          </li>
        ))}
      </ol>
      <PostForm ref={moving.form} preventScrollReset hidden>
        <input type="hidden" name="intent" value="reorder" />
        <input type="hidden" name="order" />
      </PostForm>
    </section>
  )
}

function Post({ post }: { post: Waiting }) {
  return (
    <div className="min-w-0 flex-1 sm:flex sm:gap-4">
      <p className="shrink-0 text-sm text-muted sm:w-44">{post.date ? <Instant at={post.date} /> : null}</p>
      <Link to={`/posts/${post.id}`} draggable={false} className="line-clamp-2 break-words font-medium">
        {nameOf(post)}
      </Link>
    </div>
  )
}

function nameOf(post: Waiting): string {
  return textOf(post) || strings.noText
}

type ArrowsProps = { posts: Waiting[]; place: number; onMove: (moved: Moved) => void }

// Each exchanges the times of two neighbours. They are forms, so that they work without scripts.
function Arrows({ posts, place, onMove }: ArrowsProps) {
  const post = posts[place]!
  return (
    <PostForm preventScrollReset className="flex shrink-0">
      <input type="hidden" name="intent" value="reorder" />
      <Arrow by="up" post={post} neighbour={posts[place - 1]} onMove={onMove} />
      <Arrow by="down" post={post} neighbour={posts[place + 1]} onMove={onMove} />
    </PostForm>
  )
}

type ArrowProps = {
  by: 'up' | 'down'
  post: Waiting
  neighbour: Waiting | undefined
  onMove: (moved: Moved) => void
}

function Arrow({ by, post, neighbour, onMove }: ArrowProps) {
  if (!neighbour) return <span className="size-8" />
  const Icon = by === 'up' ? ChevronUp : ChevronDown
  const order = by === 'up' ? [post.id, neighbour.id] : [neighbour.id, post.id]
  return (
    <button
      type="submit"
      name="order"
      value={order.join(',')}
      aria-label={strings[by](beginningOf(nameOf(post), 80))}
      data-move={`${by} ${post.id}`}
      onClick={() => onMove({ id: post.id, by })}
      className="grid size-8 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
    >
      <Icon aria-hidden className="size-4" />
    </button>
  )
}

type Moved = { id: string; by: 'up' | 'down' | 'drag' }

function useMoving(posts: Waiting[]) {
  const form = useRef<HTMLFormElement>(null)
  const submit = useSubmit()
  const from = useRef<number | null>(null)
  const [over, setOver] = useState<number | null>(null)
  const { list, said, remember } = useAnnounced(posts)

  const drop = (to: number) => {
    const start = from.current
    from.current = null
    setOver(null)
    if (start === null || start === to) return
    const [first, last] = [Math.min(start, to), Math.max(start, to) + 1]
    const ids = posts.map(({ id }) => id)
    const [dragged] = ids.splice(start, 1)
    ids.splice(to, 0, dragged!)
    remember({ id: dragged!, by: 'drag' })
    const order = form.current!.elements.namedItem('order') as HTMLInputElement
    order.value = ids.slice(first, last).join(',')
    submit(form.current, { preventScrollReset: true })
  }
  const draggable = (i: number) => ({
    onDragStart: (event: DragEvent) => {
      from.current = i
      event.dataTransfer.effectAllowed = 'move'
      event.dataTransfer.setData('text/plain', String(i)) // Firefox drags nothing without data
    },
    onDragOver: (event: DragEvent) => {
      if (from.current === null) return
      event.preventDefault()
      setOver(i)
    },
    onDragEnd: () => setOver(null),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      drop(i)
    },
  })
  return { form, list, said, over, remember, draggable }
}

// After a move, the focus stays on the post's button, and a screen reader hears the new place.
function useAnnounced(posts: Waiting[]) {
  const list = useRef<HTMLOListElement>(null)
  const moved = useRef<Moved | null>(null)
  const [said, setSaid] = useState('')
  const order = posts.map(({ id }) => id).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the order has changed
  useEffect(() => {
    if (!moved.current) return
    const { id, by } = moved.current
    moved.current = null
    setSaid(strings.moved(posts.findIndex((post) => post.id === id) + 1, posts.length))
    if (by === 'drag') return
    const buttons = [by, 'up', 'down'].map((way) =>
      list.current?.querySelector<HTMLElement>(`[data-move="${way} ${id}"]`),
    )
    buttons.find((button) => button)?.focus()
  }, [order])
  const remember = (move: Moved) => {
    moved.current = move
  }
  return { list, said, remember }
}
