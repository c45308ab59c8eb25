import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { beginningOf } from '../../jobs/networks/text-length.ts'
import { shown } from '../api.ts'
import { FeedItem, ItemDate } from '../feeds/feed-item.tsx'
import { feedStrings } from '../feeds/strings.ts'
import type { Handle } from '../shell/shell.tsx'

export const handle: Handle = { bare: true }

const TitleLength = 70

export const meta: MetaFunction<typeof loader> = ({ data }) => {
  if (!data) return [{ title: feedStrings.notFound }]
  const start = beginningOf(data.item.content.trim().split('\n')[0] ?? '', TitleLength)
  return [{ title: start ? feedStrings.itemPageTitle(start, data.channel.name) : data.channel.name }]
}

export async function loader({ params, context: { api } }: LoaderFunctionArgs) {
  const { channelId, itemId } = params
  return json(await shown(api.feeds.item({ channelId: channelId!, itemId: itemId! })))
}

export default function Item() {
  const { channel, item } = useLoaderData<typeof loader>()
  return (
    <>
      <h1 className="mb-5 text-lg font-semibold">
        <Link to={`/feeds/${channel.id}`} className="hover:underline">
          {channel.name}
        </Link>
      </h1>
      <article className="rounded-2xl border border-line bg-panel p-5 text-lg leading-8 shadow-sm sm:p-8">
        <FeedItem item={item} />
        <p className="mt-5 text-muted">
          <ItemDate at={item.publishedAt} />
        </p>
      </article>
    </>
  )
}
