import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../../server/router.ts'

type Webhooks = Api['webhooks']
type Log = Awaited<ReturnType<Webhooks['deliveries']>>
type Shown = {
  webhook: Awaited<ReturnType<Webhooks['get']>>
  log: Log
  status: Log['data'][number]['status'] | null
  asked: Record<string, string>
}

/** The webhook of the page /settings/developers/webhooks/:id, with the shown page of its log. */
export function useWebhook() {
  return useRouteLoaderData<Shown>('routes/settings.developers.webhooks.$id')!
}
