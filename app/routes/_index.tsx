import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { CalendarClock, PenLine, TriangleAlert } from 'lucide-react'
import type { Post, PostStatus } from '../../jobs/post-view.ts'
import type { Api } from '../../server/router.ts'
import { shown, signedIn } from '../api.ts'
import { useMay } from '../ui/account.ts'
import { ButtonLink } from '../ui/button.tsx'
import { useLive } from '../ui/live.ts'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'
import { PostDays, PostSection } from '../ui/post-list.tsx'
import { clockAt, startOfDay } from '../zone.ts'

export const meta: MetaFunction = () => [{ title: 'Posts · Punctual' }]

const NeedAPerson: PostStatus[] = ['NEEDS_REVIEW', 'HELD', 'FAILED', 'PARTIALLY_PUBLISHED']
const NotOver: PostStatus[] = ['SCHEDULED', 'PUBLISHING']
const SoonestFirst: PostStatus[] = ['SCHEDULED', 'DRAFT', 'HELD', 'PUBLISHING']
const TopLimit = 50 // of each kind above the list
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
  const [page, top, channels] = await Promise.all([
    shown(pageOf(api, { status, cursor, today })),
    status === '' && !cursor ? topOf(api, today) : nothing,
    api.channels.list({ limit: 100 }),
  ])
  const above = new Set([...top.needs, ...top.late].map(({ id }) => id))
  const isToCome = (post: Post) => !above.has(post.id) && post.status !== 'CANCELLED'
  const posts = status === '' ? page.data.filter(isToCome) : page.data
  const drafts = top.drafts.filter(({ id }) => !posts.some((post) => post.id === id))
  return json({
    ...{ ...top, drafts, posts, nextCursor: page.nextCursor },
    ...{ status, isFirstPage: !cursor, isRemoved: searchParams.has('removed') },
    ...{ channels: channels.data, today: clockAt(now, member.timeZone).date },
  })
}

// The days from today on, or all of one status: what is still to come soonest first, what is over latest first.
function pageOf(api: Api, { status, cursor, today }: { status: string; cursor: string | undefined; today: Date }) {
  const at = { limit: PageLimit, ...(cursor ? { cursor } : {}) }
  if (status === '') return api.posts.list({ ...at, order: 'asc', from: today.toISOString() })
  if (status === 'ALL') return api.posts.list({ ...at, order: 'desc' })
  const wanted = status as PostStatus // one that is none is refused
  return api.posts.list({ ...at, status: wanted, order: SoonestFirst.includes(wanted) ? 'asc' : 'desc' })
}

const nothing: { needs: Post[]; late: Post[]; drafts: Post[] } = { needs: [], late: [], drafts: [] }

/** What waits for a person, what should have gone out before today, and drafts. */
async function topOf(api: Api, today: Date) {
  const of = async (status: PostStatus | PostStatus[], more = {}) =>
    (await api.posts.list({ status, limit: TopLimit, order: 'asc', ...more })).data
  const [needs, late, drafts] = await Promise.all([
    of(NeedAPerson),
    of(NotOver, { to: today.toISOString() }),
    of('DRAFT'),
  ])
  return { needs, late, drafts }
}

export default function Posts() {
  const { needs, late, drafts, posts, channels, today, status, isRemoved } = useLoaderData<typeof loader>()
  const { write } = useMay()
  useLive([...needs, ...late, ...posts])
  const isEmpty = needs.length + late.length + drafts.length + posts.length === 0
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
      <PostSection title={<NeedsTitle count={needs.length} />} posts={needs} channels={channels} />
      <PostSection title="Late" posts={late} channels={channels} />
      <PostDays posts={posts} channels={channels} today={today} />
      <PostSection title="Drafts" posts={drafts} channels={channels} />
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

function Filters({ current }: { current: string }) {
  return (
    <nav aria-label="Filter" className="-mx-4 mb-6 overflow-x-auto px-4 md:mx-0 md:px-0">
      <ul className="flex gap-1">
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
