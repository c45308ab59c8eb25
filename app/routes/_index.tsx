import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { CalendarClock, PenLine, TriangleAlert } from 'lucide-react'
import type { Post, PostStatus } from '../../jobs/ledger/post-view.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, shown, signedIn } from '../api.ts'
import { FindField } from '../posts/find/find-field.tsx'
import { useLivePosts } from '../posts/live.ts'
import { PostDays, PostSection } from '../posts/post-list.tsx'
import { statusesOf } from '../posts/status-filter.ts'
import { postListStrings as strings } from '../posts/strings.tsx'
import { UndoDelete } from '../posts/undo.tsx'
import { queueNames } from '../queues/choices.ts'
import { Landing } from '../shell/landing.tsx'
import { useMay } from '../shell/permissions.ts'
import type { Handle } from '../shell/shell.tsx'
import { landingStrings } from '../shell/strings.tsx'
import { useCurrentInView } from '../ui/current-in-view.ts'
import { ButtonLink } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'
import { clockAt, startOfDay } from '../ui/time/time-zone.ts'

export const meta: MetaFunction<typeof loader> = ({ data }) =>
  data && 'signupOpen' in data
    ? [{ title: landingStrings.pageTitle }, { name: 'description', content: landingStrings.title }]
    : [{ title: strings.pageTitle }]

export const handle: Handle = { wide: true, still: (data) => 'signupOpen' in (data as object) }

const NeedAttention: PostStatus[] = ['NEEDS_REVIEW', 'HELD', 'FAILED', 'PARTIALLY_PUBLISHED']
const NotOver: PostStatus[] = ['SCHEDULED', 'PUBLISHING']
const ToCome: PostStatus[] = ['SCHEDULED', 'PUBLISHING', 'PUBLISHED', 'DRAFT']
const SoonestFirst: PostStatus[] = ['SCHEDULED', 'DRAFT', 'HELD', 'PUBLISHING']
const GroupLimit = 20
const PageLimit = 50

const filters = [
  { status: '', name: strings.filters.upcoming },
  { status: 'DRAFT', name: strings.filters.drafts },
  { status: 'PUBLISHED', name: strings.filters.published },
  { status: 'FAILED', name: strings.filters.failed },
  { status: 'CANCELLED', name: strings.filters.cancelled },
  { status: 'ALL', name: strings.filters.all },
]

export async function loader(args: LoaderFunctionArgs) {
  const { member, signupOpen } = args.context
  const isVisitor = !member && new URL(args.request.url).search === ''
  return isVisitor ? json({ signupOpen }) : readPosts(args)
}

async function readPosts(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const { searchParams } = new URL(args.request.url)
  const status = searchParams.get('status')?.toUpperCase() ?? ''
  const cursor = searchParams.get('cursor') ?? undefined
  const now = new Date()
  const today = startOfDay(now, member.timeZone)
  const isOverview = status === '' && !cursor
  const [page, top, channels, queues] = await Promise.all([
    shown(pageOf(api, { status, cursor, today })),
    isOverview ? topOf(api, today) : nothing,
    allChannels(api),
    queueNames(api),
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
    removed: searchParams.get('removed'),
    channels,
    queues,
    today: clockAt(now, member.timeZone).date,
  })
}

type View = { status: string; cursor: string | undefined; today: Date }

// The days from today on, or all posts of one status: upcoming ones soonest first, past ones latest first.
function pageOf(api: Api, { status, cursor, today }: View) {
  const at = { limit: status ? PageLimit : GroupLimit, ...(cursor ? { cursor } : {}) }
  if (status === '') return api.posts.list({ ...at, status: ToCome, order: 'asc', from: today.toISOString() })
  if (status === 'ALL') return api.posts.list({ ...at, order: 'desc' })
  if (status === 'NEEDS_ATTENTION') return api.posts.list({ ...at, status: NeedAttention, order: 'desc' })
  if (status === 'LATE') return api.posts.list({ ...at, status: NotOver, order: 'asc', to: today.toISOString() })
  const wanted = status as PostStatus // the procedure refuses any other word
  return api.posts.list({ ...at, status: statusesOf(wanted), order: SoonestFirst.includes(wanted) ? 'asc' : 'desc' })
}

/** Posts of one kind above the list: the first of them, and how many there are. */
type Group = { posts: Post[]; count: number }

const none: Group = { posts: [], count: 0 }
const nothing: { needs: Group; late: Group; drafts: Group } = { needs: none, late: none, drafts: none }

/** Posts that need attention, the newest first, posts that should have gone out before today, and drafts. */
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
    of(NeedAttention, 'desc'),
    of(NotOver, 'asc', today.toISOString()),
    of(['DRAFT'], 'asc'),
  ])
  return { needs, late, drafts }
}

export default function Index() {
  const data = useLoaderData<typeof loader>()
  return 'signupOpen' in data ? <Landing signupOpen={data.signupOpen} /> : <Posts />
}

function Posts() {
  const { needs, late, drafts, posts, channels, today, status, removed } = useLoaderData<typeof readPosts>()
  const { write } = useMay()
  useLivePosts([...needs.posts, ...late.posts, ...posts])
  const isEmpty = needs.count + late.count + drafts.count + posts.length === 0
  return (
    <>
      <PageHead title={strings.title}>
        {write ? (
          <ButtonLink to="/posts/new" look={isEmpty ? 'plain' : 'primary'}>
            <PenLine aria-hidden />
            {strings.newPost}
          </ButtonLink>
        ) : null}
      </PageHead>
      {removed ? (
        <Notice>
          {strings.draftDeleted} {write ? <UndoDelete id={removed} /> : null}
        </Notice>
      ) : null}
      <FindField />
      <Filters current={status} />
      <PostSection title={<NeedsTitle count={needs.count} />} posts={needs.posts} channels={channels} />
      <ShowAll of={needs} name={strings.sections.allNeedingAttention} to="/?status=needs_attention" />
      <PostSection title={strings.sections.late} posts={late.posts} channels={channels} />
      <ShowAll of={late} name={strings.sections.allLate} to="/?status=late" />
      <PostDays posts={posts} channels={channels} today={today} />
      <PostSection title={strings.sections.drafts} posts={drafts.posts} channels={channels} />
      <ShowAll of={drafts} name={strings.sections.allDrafts} to="/?status=DRAFT" />
      {isEmpty ? <NoPosts /> : null}
      <Paging />
    </>
  )
}

function NeedsTitle({ count }: { count: number }) {
  return (
    <>
      <TriangleAlert aria-hidden className="size-4 text-warn" />
      {strings.sections.needAttention(count)}
    </>
  )
}

function ShowAll({
  of: { posts, count },
  name,
  to,
}: {
  of: { posts: unknown[]; count: number }
  name: (count: number) => string
  to: string
}) {
  if (posts.length === 0 || count <= GroupLimit) return null
  return (
    <p className="-mt-6 mb-8 text-sm">
      <Link to={to} className="font-medium text-accent-ink underline underline-offset-2">
        {name(count)}
      </Link>
    </p>
  )
}

function Filters({ current }: { current: string }) {
  const list = useCurrentInView()
  return (
    <nav aria-label={strings.filters.label} className="mb-6">
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
  const { nextCursor, isFirstPage, status } = useLoaderData<typeof readPosts>()
  const path = (cursor?: string) => {
    const search = new URLSearchParams({ ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) })
    return search.size > 0 ? `/?${search}` : '/'
  }
  if (isFirstPage && !nextCursor) return null
  return (
    <nav aria-label={strings.paging.label} className="flex justify-between">
      {isFirstPage ? <span /> : <ButtonLink to={path()}>{strings.paging.first}</ButtonLink>}
      {nextCursor ? <ButtonLink to={path(nextCursor)}>{strings.paging.next}</ButtonLink> : null}
    </nav>
  )
}

function NoPosts() {
  const { status, channels, isFirstPage } = useLoaderData<typeof readPosts>()
  const { write } = useMay()
  if (status || !isFirstPage)
    return (
      <Empty icon={<CalendarClock aria-hidden />} title={strings.noneOfStatus.title}>
        <p>{strings.noneOfStatus.text}</p>
      </Empty>
    )
  if (channels.length === 0 && write)
    return (
      <Empty icon={<CalendarClock aria-hidden />} title={strings.noChannels.title}>
        <p>{strings.noChannels.text}</p>
        <ButtonLink to="/channels" look="primary">
          {strings.noChannels.connect}
        </ButtonLink>
      </Empty>
    )
  return (
    <Empty icon={<CalendarClock aria-hidden />} title={strings.none.title}>
      <p>{strings.none.wait}</p>
      {write ? (
        <ButtonLink to="/posts/new" look="primary">
          {strings.none.write}
        </ButtonLink>
      ) : null}
    </Empty>
  )
}
