import { useRouteLoaderData } from '@remix-run/react'
import type { loader } from '../../routes/settings.developers.apps.$id.tsx'

/** The app that the pages under /settings/developers/apps/:id are about, with our two addresses. */
export function useApp() {
  return useRouteLoaderData<typeof loader>('routes/settings.developers.apps.$id')!
}
