import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { SearchX } from 'lucide-react'
import type { Post, PostStatus } from '../../jobs/ledger/post-view.ts'
import type { Fault } from '../../server/errors.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, type Problem, problemOf, signedIn } from '../api.ts'
import { FindForm } from '../posts/find/find-form.tsx'
import { findStrings as strings } from '../posts/find/strings.ts'
import { useLivePosts } from '../posts/live.ts'
import { PostSection } from '../posts/post-list.tsx'
import { statusesOf } from '../posts/status-filter.ts'
import { askedOf, withInstants } from '../ui/forms/filters.ts'
import { Paging } from '../ui/lists/paging.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: strings.pageTitle }]

const names = ['words', 'channelId', 'queueId', 'status', 'tag', 'authorId', 'from', 'to']
const PageLimit = 50

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const asked = askedOf(args.request, names)
  const cursor = new URL(args.request.url).searchParams.get('cursor') ?? ''
  const [{ status, headers, ...page }, channels, choices] = await Promise.all([
    pageOf(api, asked, cursor, member.timeZone),
    allChannels(api),
    api.posts.findableBy(),
  ])
  return json({ asked, isFirstPage: !cursor, channels, ...page, ...choices }, { status, headers })
}

type Found = Pick<Problem, 'status' | 'headers'> & { posts: Post[]; nextCursor: string | null; faults: Fault[] }

const nothing: Found = { status: 200, headers: {}, posts: [], nextCursor: null, faults: [] }

/** A page of the posts that match, or the faults of what was asked for. Nothing is found by nothing. */
async function pageOf(api: Api, asked: Record<string, string>, cursor: string, zone: string): Promise<Found> {
  if (Object.keys(asked).length === 0) return nothing
  const status = asked.status ? { status: statusesOf(asked.status as PostStatus) } : {}
  const wanted = { ...withInstants(asked, zone), ...status, limit: PageLimit, ...(cursor ? { cursor } : {}) }
  try {
    const { data, nextCursor } = await api.posts.find(wanted as Parameters<Api['posts']['find']>[0])
    return { ...nothing, posts: data, nextCursor }
  } catch (error) {
    const { status, headers, detail, errors } = problemOf(error)
    return {
      ...nothing,
      status,
      headers,
      faults: errors.length > 0 ? errors : [{ path: '', code: '', message: detail }],
    }
  }
}

export default function Find() {
  const { asked, posts, channels, isFirstPage, nextCursor, faults } = useLoaderData<typeof loader>()
  useLivePosts(posts)
  const isEmpty = posts.length === 0 && faults.length === 0 && Object.keys(asked).length > 0
  return (
    <>
      <PageHead title={strings.title} />
      <FindForm />
      <PostSection title={strings.found} posts={posts} channels={channels} />
      {isEmpty ? (
        <Empty icon={<SearchX aria-hidden />} title={strings.noMatch.title}>
          <p>{strings.noMatch.text}</p>
        </Empty>
      ) : null}
      <Paging
        path="/posts/find"
        filters={asked}
        isFirstPage={isFirstPage}
        nextCursor={nextCursor}
        names={strings.paging}
      />
    </>
  )
}
