import { DateTime } from 'luxon'
import type { ReactNode } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { useZone } from '../shell/account.ts'
import { PostRow } from './post-row.tsx'
import { postListStrings } from './strings.tsx'

/** Posts under a heading, each with its full date. Empty when there are none. */
export function PostSection({ title, posts, channels }: { title: ReactNode; posts: Post[]; channels: Channel[] }) {
  if (posts.length === 0) return null
  return (
    <section className="mb-8">
      <h2 className="mb-2 flex items-center gap-2 text-sm font-medium text-muted">{title}</h2>
      <Rows posts={posts} channels={channels} form="full" />
    </section>
  )
}

/** Posts in the given order, under the days on which they go out; `today` is yyyy-mm-dd. */
export function PostDays({ posts, channels, today }: { posts: Post[]; channels: Channel[]; today: string }) {
  const zone = useZone()
  const days = Map.groupBy(posts, ({ date }) => (date ? DateTime.fromISO(date, { zone }).toFormat('yyyy-MM-dd') : ''))
  return [...days].map(([day, ofDay]) => (
    <section key={day} className="mb-8">
      <h2 className="mb-2 text-sm font-medium text-muted">{nameOfDay(day, today)}</h2>
      <Rows posts={ofDay} channels={channels} form="time" />
    </section>
  ))
}

function Rows({ posts, channels, form }: { posts: Post[]; channels: Channel[]; form: 'time' | 'full' }) {
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-panel shadow-sm">
      {posts.map((post) => (
        <li key={post.id}>
          <PostRow post={post} channels={channels} form={form} />
        </li>
      ))}
    </ul>
  )
}

function nameOfDay(day: string, today: string): string {
  const strings = postListStrings.day
  if (!day) return strings.none
  const date = DateTime.fromISO(day, { zone: 'utc', locale: 'en' })
  const away = date.diff(DateTime.fromISO(today, { zone: 'utc' }), 'days').days
  const near = { '-1': strings.yesterday, '0': strings.today, '1': strings.tomorrow }[String(away)]
  const isThisYear = day.slice(0, 4) === today.slice(0, 4)
  const written = date.toFormat(isThisYear ? 'cccc d LLLL' : 'cccc d LLLL yyyy')
  return near ? near(written) : written
}
