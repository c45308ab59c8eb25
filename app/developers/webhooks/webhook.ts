import { useRouteLoaderData } from '@remix-run/react'
import type { loader } from '../../routes/settings.developers.webhooks.$id.tsx'

/** The webhook that the page /settings/developers/webhooks/:id is about, with the part of its log that is shown. */
export function useWebhook() {
  return useRouteLoaderData<typeof loader>('routes/settings.developers.webhooks.$id')!
}
