import skeleton from '@fullcalendar/react/skeleton.css'
import theme from '@fullcalendar/react/themes/classic/theme.css'
import {
  type ActionFunctionArgs,
  json,
  type LinksFunction,
  type LoaderFunctionArgs,
  type MetaFunction,
  redirect,
} from '@remix-run/node'
import { useActionData, useLoaderData } from '@remix-run/react'
import { PenLine } from 'lucide-react'
import type { PostStatus } from '../../jobs/ledger/post-view.ts'
import type { FreeTime } from '../../server/posts/calendar.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, formOf, shown, signedIn } from '../api.ts'
import { asksForFreeTimes } from '../calendar/address.ts'
import stylesheet from '../calendar/calendar.css'
import { askedIn, habitsOf, Morning, rangeOf, titleOf, type View } from '../calendar/days.ts'
import { Filters } from '../calendar/filters.tsx'
import { movePost, type Refused, undoMove } from '../calendar/moves/move.ts'
import { LastMove } from '../calendar/moves/outcome.tsx'
import { telling, toldIn } from '../calendar/moves/told-once.ts'
import { useMoves } from '../calendar/moves/use-moves.ts'
import { PostDialog } from '../calendar/post-dialog.tsx'
import { ShownDays } from '../calendar/shown-days.tsx'
import { calendarStrings as strings } from '../calendar/strings.tsx'
import { Toolbar } from '../calendar/toolbar.tsx'
import { useIsNarrow } from '../calendar/use-grid.ts'
import { statusesOf } from '../posts/status-filter.ts'
import { useZone } from '../shell/account.ts'
import { mayWrite, useMay } from '../shell/permissions.ts'
import type { Handle } from '../shell/shell.tsx'
import { ButtonLink } from '../ui/forms/button.tsx'
import { PageHead } from '../ui/page.tsx'
import { nowMs } from '../ui/time/now.ts'
import { clockAt, zoneIn } from '../ui/time/time-zone.ts'
import { Warning } from '../ui/warning.tsx'

export const handle: Handle = { wide: true }
export const meta: MetaFunction = () => [{ title: strings.pageTitle }]
export const links: LinksFunction = () => [skeleton, theme, stylesheet].map((href) => ({ rel: 'stylesheet', href }))

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const { request, context } = args
  const query = new URL(request.url).searchParams
  const today = clockAt(new Date(), member.timeZone).date
  const habits = habitsOf(member, request.headers.get('accept-language'))
  const { view, date } = askedIn(query, today)
  const { from, to } = rangeOf(view, date, habits.weekStart, member.timeZone)
  const id = query.get('post')
  const hasFreeTimes = mayWrite(member.role) && asksForFreeTimes(query)
  const [{ posts, hasMore }, free, queues, tags, channels, post, told] = await Promise.all([
    shown(api.calendar.list({ ...isoOf({ from, to }), ...filtersIn(query) })),
    hasFreeTimes ? shown(api.calendar.freeTimes({ ...isoOf({ from, to }), ...channelIn(query) })) : noTimes,
    api.queues.list({ limit: 100 }),
    api.calendar.tags(),
    allChannels(api),
    id ? shown(api.posts.get({ id })) : null,
    toldIn(request, { member, appUrl: context.appUrl }),
  ])
  const named = queues.data.map(({ id, name }) => ({ id, name }))
  const entries = { posts, hasMore, freeTimes: free.times, hasMoreTimes: free.hasMore, queues: named, tags, channels }
  return json({ ...entries, post, view, date, habits, told: told.moved }, { headers: told.headers })
}

const noTimes: Awaited<ReturnType<Api['calendar']['freeTimes']>> = { times: [], hasMore: false }

function isoOf({ from, to }: { from: Date; to: Date }) {
  return { from: from.toISOString(), to: to.toISOString() }
}

function filtersIn(query: URLSearchParams) {
  const [status, tag] = [query.get('status') as PostStatus | null, query.get('tag')]
  return { ...channelIn(query), ...(status ? { status: statusesOf(status) } : {}), ...(tag ? { tag } : {}) }
}

function channelIn(query: URLSearchParams) {
  const channelId = query.get('channel')
  return channelId ? { channelId } : {}
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const form = formOf(args.context)
  const isUndo = form.get('intent') === 'undo'
  const answer = await (isUndo ? undoMove(api, form) : movePost(api, form, zoneIn(form, member.timeZone)))
  if ('refused' in answer) return json(answer, answer.status)
  if (answer.moved.by === 'drag') return json(answer)
  const here = new URL(args.request.url)
  here.searchParams.delete('post')
  return redirect(here.pathname + here.search, {
    headers: await telling(answer.moved, { member, appUrl: args.context.appUrl }),
  })
}

export default function Calendar() {
  const { posts, hasMore, hasMoreTimes, queues, tags, channels, post, view, date, habits, told, ...rest } =
    useLoaderData<typeof loader>()
  const refused = useActionData<Refused>() ?? null
  const ofDialog = refused?.id === post?.id ? refused : null
  const moves = useMoves(told, ofDialog ? null : refused)
  const isNarrow = useIsNarrow()
  const chosen = view ?? (isNarrow === null ? null : isNarrow ? 'list' : 'month')
  const { write } = useMay()
  const freeTimes = write ? rest.freeTimes : none // they lead to the composer
  return (
    <>
      <PageHead title={strings.title} lead={strings.zone(useZone())}>
        <NewPost view={view} date={date} />
      </PageHead>
      <LastMove outcome={moves.outcome} queues={queues} habits={habits} />
      <Toolbar view={view} shown={chosen} date={date} title={titleOf(view, date, habits.weekStart)} />
      <Filters channels={channels} tags={tags} hasQueues={write && queues.length > 0} />
      {hasMore ? <Warning>{strings.tooMany}</Warning> : null}
      {write && hasMoreTimes ? <Warning>{strings.tooManyFree}</Warning> : null}
      <ShownDays view={chosen} {...{ posts, freeTimes, queues, channels, date, habits, moves }} />
      {post ? <PostDialog post={post} channels={channels} queues={queues} refused={ofDialog} /> : null}
    </>
  )
}

const none: FreeTime[] = []

// On the page of a single day, the post begins with its morning.
function NewPost({ view, date }: { view: View | null; date: string }) {
  const { write } = useMay()
  const zone = useZone()
  const isLater = view === 'day' && date > clockAt(new Date(nowMs()), zone).date
  if (!write) return null
  return (
    <ButtonLink to={isLater ? `/posts/new?at=${date}T${Morning}` : '/posts/new'} look="primary">
      <PenLine aria-hidden />
      {strings.newPost}
    </ButtonLink>
  )
}
