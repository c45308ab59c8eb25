import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'

type Root = { account: Awaited<ReturnType<Api['account']['show']>> | null } // as root.tsx has read it

/** The signed-in person and their organisations, or null. */
export function useAccount() {
  return useRouteLoaderData<Root>('root')?.account ?? null
}

/** The time zone of all times on the page: the signed-in person's, or UTC. */
export function useZone(): string {
  return useAccount()?.timeZone ?? 'UTC'
}
