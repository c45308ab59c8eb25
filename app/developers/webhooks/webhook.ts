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

/** The webhook that the page /settings/developers/webhooks/:id is about, with the part of its log that is shown. */
export function useWebhook() {
  return useRouteLoaderData<Shown>('routes/settings.developers.webhooks.$id')!
}
