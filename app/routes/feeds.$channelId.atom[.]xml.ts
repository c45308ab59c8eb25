import type { LoaderFunctionArgs } from '@remix-run/node'
import { shown } from '../api.ts'

export async function loader({ params, context: { api } }: LoaderFunctionArgs) {
  const feed = await shown(api.feeds.atom({ channelId: params.channelId! }))
  return new Response(feed, { headers: { 'Content-Type': 'application/atom+xml; charset=utf-8' } })
}
