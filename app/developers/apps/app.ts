import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../../server/router.ts'

type Shown = { app: Awaited<ReturnType<Api['apps']['get']>>; appUrl: string; baseUrl: string }

/** The app of the pages under /settings/developers/apps/:id, with our two addresses. */
export function useApp() {
  return useRouteLoaderData<Shown>('routes/settings.developers.apps.$id')!
}
