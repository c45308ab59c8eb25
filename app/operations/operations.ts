import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'

type Operations = Api['operations']
type Shown = Awaited<ReturnType<Operations['overview']>> & {
  now: string
  kind: Parameters<Operations['stuck']>[0]['kind']
  list: Awaited<ReturnType<Operations['stuck']>>
  isFirstPage: boolean
}

/** What the loader of /operations has read. */
export function useOperations() {
  return useRouteLoaderData<Shown>('routes/operations')!
}
