import { useRouteLoaderData } from '@remix-run/react'
import type { loader } from '../routes/operations.tsx'

/** How it stands with the whole installation, as the page /operations has read it. */
export function useOperations() {
  return useRouteLoaderData<typeof loader>('routes/operations')!
}
