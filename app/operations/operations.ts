import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'

type Operations = Api['operations']
type Shown = Awaited<ReturnType<Operations['overview']>> & {
  now: string
  kind: Parameters<Operations['stuck']>[0]['kind']
  list: Awaited<ReturnType<Operations['stuck']>>
  isFirstPage: boolean
}

/** How it stands with the whole installation, as the page /operations has read it. */
export function useOperations() {
  return useRouteLoaderData<Shown>('routes/operations')!
}
