import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { Rss } from 'lucide-react'
import { shown } from '../api.ts'
import { FeedItem, ItemDate } from '../feeds/feed-item.tsx'
import { feedStrings } from '../feeds/strings.ts'
import type { Handle } from '../shell/shell.tsx'

export const handle: Handle = { bare: true }

export const meta: MetaFunction<typeof loader> = ({ data }) => {
  if (!data) return [{ title: feedStrings.notFound }]
  const { id, name } = data.channel
  const alternate = { tagName: 'link', rel: 'alternate', title: name }
  return [
    { title: name },
    { ...alternate, type: 'application/atom+xml', href: `/feeds/${id}/atom.xml` },
    { ...alternate, type: 'application/feed+json', href: `/feeds/${id}/feed.json` },
  ]
}

export async function loader({ params, context: { api } }: LoaderFunctionArgs) {
  return json(await shown(api.feeds.show({ channelId: params.channelId! })))
}

export default function Feed() {
  const { channel, items } = useLoaderData<typeof loader>()
  const feedLink = 'text-accent-ink underline underline-offset-2'
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">{channel.name}</h1>
      <p className="mb-8 mt-1 flex items-center gap-2 text-sm text-muted">
        <Rss aria-hidden className="size-4" />
        <a href={`/feeds/${channel.id}/atom.xml`} className={feedLink}>
          {feedStrings.atom}
        </a>
        <a href={`/feeds/${channel.id}/feed.json`} className={feedLink}>
          {feedStrings.json}
        </a>
      </p>
      {items.length === 0 ? <p className="text-muted">{feedStrings.none}</p> : null}
      <ol className="space-y-5">
        {items.map((item) => (
          <li key={item.id} className="rounded-2xl border border-line bg-panel p-5 shadow-sm sm:p-6">
            <article>
              <FeedItem item={item} />
              <p className="mt-3 text-muted">
                <Link to={`/feeds/${channel.id}/${item.id}`} className="hover:underline">
                  <ItemDate at={item.publishedAt} />
                </Link>
              </p>
            </article>
          </li>
        ))}
      </ol>
    </>
  )
}
