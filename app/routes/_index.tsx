import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { CalendarClock, PenLine, TriangleAlert } from 'lucide-react'
import type { Post, PostStatus } from '../../jobs/ledger/post-view.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, shown, signedIn } from '../api.ts'
import { useLivePosts } from '../posts/live.ts'
import { PostDays, PostSection } from '../posts/post-list.tsx'
import { useMay } from '../shell/permissions.ts'
import { useCurrentInView } from '../ui/current-in-view.ts'
import { ButtonLink } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'
import { clockAt, startOfDay } from '../ui/time-zone.ts'

export const meta: MetaFunction = () => [{ title: 'Posts · Punctual' }]

const NeedAPerson: PostStatus[] = ['NEEDS_REVIEW', 'HELD', 'FAILED', 'PARTIALLY_PUBLISHED']
const NotOver: PostStatus[] = ['SCHEDULED', 'PUBLISHING']
const ToCome: PostStatus[] = ['SCHEDULED', 'PUBLISHING', 'PUBLISHED', 'DRAFT']
const SoonestFirst: PostStatus[] = ['SCHEDULED', 'DRAFT', 'HELD', 'PUBLISHING']
const GroupLimit = 20
const PageLimit = 50

const filters = [
  { status: '', name: 'Upcoming' },
  { status: 'DRAFT', name: 'Drafts' },
  { status: 'PUBLISHED', name: 'Published' },
  { status: 'FAILED', name: 'Failed' },
  { status: 'CANCELLED', name: 'Cancelled' },
  { status: 'ALL', name: 'All' },
]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const { searchParams } = new URL(args.request.url)
  const status = searchParams.get('status')?.toUpperCase() ?? ''
  const cursor = searchParams.get('cursor') ?? undefined
  const now = new Date()
  const today = startOfDay(now, member.timeZone)
  const isOverview = status === '' && !cursor
  const [page, top, channels] = await Promise.all([
    shown(pageOf(api, { status, cursor, today })),
    isOverview ? topOf(api, today) : nothing,
    allChannels(api),
  ])
  const posts = page.data
  const drafts = { ...top.drafts, posts: top.drafts.posts.filter(({ id }) => !posts.some((post) => post.id === id)) }
  return json({
    needs: top.needs,
    late: top.late,
    drafts,
    posts,
    nextCursor: page.nextCursor,
    status,
    isFirstPage: !cursor,
    isRemoved: searchParams.has('removed'),
    channels,
    today: clockAt(now, member.timeZone).date,
  })
}

type View = { status: string; cursor: string | undefined; today: Date }

// The days from today on, or all of one kind: what is still to come soonest first, what is over latest first.
function pageOf(api: Api, { status, cursor, today }: View) {
  const at = { limit: status ? PageLimit : GroupLimit, ...(cursor ? { cursor } : {}) }
  if (status === '') return api.posts.list({ ...at, status: ToCome, order: 'asc', from: today.toISOString() })
  if (status === 'ALL') return api.posts.list({ ...at, order: 'desc' })
  if (status === 'NEEDS_ATTENTION') return api.posts.list({ ...at, status: NeedAPerson, order: 'desc' })
  if (status === 'LATE') return api.posts.list({ ...at, status: NotOver, order: 'asc', to: today.toISOString() })
  const wanted = status as PostStatus // one that is none is refused
  return api.posts.list({ ...at, status: wanted, order: SoonestFirst.includes(wanted) ? 'asc' : 'desc' })
}

/** Posts of one kind above the list: the first of them, and how many there are. */
type Group = { posts: Post[]; count: number }

const none: Group = { posts: [], count: 0 }
const nothing: { needs: Group; late: Group; drafts: Group } = { needs: none, late: none, drafts: none }

/** What waits for a person, the newest first, what should have gone out before today, and drafts. */
async function topOf(api: Api, today: Date) {
  const of = async (status: PostStatus[], order: 'asc' | 'desc', to?: string): Promise<Group> => {
    const wanted = { status, ...(to ? { to } : {}) }
    const [{ data }, count] = await Promise.all([
      api.posts.list({ ...wanted, order, limit: GroupLimit }),
      api.posts.count(wanted),
    ])
    return { posts: data, count }
  }
  const [needs, late, drafts] = await Promise.all([
    of(NeedAPerson, 'desc'),
    of(NotOver, 'asc', today.toISOString()),
    of(['DRAFT'], 'asc'),
  ])
  return { needs, late, drafts }
}

export default function Posts() {
  const { needs, late, drafts, posts, channels, today, status, isRemoved } = useLoaderData<typeof loader>()
  const { write } = useMay()
  useLivePosts([...needs.posts, ...late.posts, ...posts])
  const isEmpty = needs.count + late.count + drafts.count + posts.length === 0
  return (
    <>
      <PageHead title="Posts">
        {write ? (
          <ButtonLink to="/posts/new" look="primary">
            <PenLine aria-hidden />
            New post
          </ButtonLink>
        ) : null}
      </PageHead>
      {isRemoved ? <Notice>The draft is gone.</Notice> : null}
      <Filters current={status} />
      <PostSection title={<NeedsTitle count={needs.count} />} posts={needs.posts} channels={channels} />
      <ShowAll of={needs} name="that need you" to="/?status=needs_attention" />
      <PostSection title="Late" posts={late.posts} channels={channels} />
      <ShowAll of={late} name="late posts" to="/?status=late" />
      <PostDays posts={posts} channels={channels} today={today} />
      <PostSection title="Drafts" posts={drafts.posts} channels={channels} />
      <ShowAll of={drafts} name="drafts" to="/?status=DRAFT" />
      {isEmpty ? <NoPosts /> : null}
      <Paging />
    </>
  )
}

function NeedsTitle({ count }: { count: number }) {
  return (
    <>
      <TriangleAlert aria-hidden className="size-4 text-warn" />
      {count === 1 ? '1 post needs you' : `${count} posts need you`}
    </>
  )
}

function ShowAll({
  of: { posts, count },
  name,
  to,
}: {
  of: { posts: unknown[]; count: number }
  name: string
  to: string
}) {
  if (posts.length === 0 || count <= GroupLimit) return null
  return (
    <p className="-mt-6 mb-8 text-sm">
      <Link to={to} className="font-medium text-accent-ink underline underline-offset-2">
        Show all {count} {name}
      </Link>
    </p>
  )
}

function Filters({ current }: { current: string }) {
  const list = useCurrentInView()
  return (
    <nav aria-label="Filter" className="mb-6">
      <ul ref={list} className="flex gap-1 overflow-x-auto">
        {filters.map(({ status, name }) => (
          <li key={status}>
            <Link
              to={status ? `/?status=${status}` : '/'}
              prefetch="intent"
              preventScrollReset
              aria-current={status === current ? 'page' : undefined}
              className="block whitespace-nowrap rounded-full px-3 py-1 text-sm font-medium text-muted hover:bg-sunken hover:text-ink aria-[current]:bg-ink aria-[current]:text-canvas"
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Paging() {
  const { nextCursor, isFirstPage, status } = useLoaderData<typeof loader>()
  const path = (cursor?: string) => {
    const search = new URLSearchParams({ ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) })
    return search.size > 0 ? `/?${search}` : '/'
  }
  if (isFirstPage && !nextCursor) return null
  return (
    <nav aria-label="Pages" className="flex justify-between">
      {isFirstPage ? <span /> : <ButtonLink to={path()}>To the first page</ButtonLink>}
      {nextCursor ? <ButtonLink to={path(nextCursor)}>Next page</ButtonLink> : null}
    </nav>
  )
}

function NoPosts() {
  const { status, channels, isFirstPage } = useLoaderData<typeof loader>()
  const { write } = useMay()
  if (status || !isFirstPage)
    return (
      <Empty icon={<CalendarClock aria-hidden />} title="None here">
        <p>No post is in this state.</p>
      </Empty>
    )
  if (channels.length === 0 && write)
    return (
      <Empty icon={<CalendarClock aria-hidden />} title="Two steps to the first post">
        <p>Connect a channel, the account that posts go out on. Then write a post and say when.</p>
        <ButtonLink to="/channels" look="primary">
          Connect a channel
        </ButtonLink>
      </Empty>
    )
  return (
    <Empty icon={<CalendarClock aria-hidden />} title="Nothing is planned">
      <p>
        {write
          ? 'Write something and give it an hour, or let a program do it with an API key.'
          : 'What is scheduled shows up here.'}
      </p>
    </Empty>
  )
}
