import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'
import { mayManage } from './permissions.ts'

type Root = { account: Awaited<ReturnType<Api['account']['show']>> | null } // as root.tsx has read it

/** The signed-in person and their organisations, or null. */
export function useAccount() {
  return useRouteLoaderData<Root>('root')?.account ?? null
}

/** The time zone of all times on the page: the signed-in person's, or UTC. */
export function useZone(): string {
  return useAccount()?.timeZone ?? 'UTC'
}

/** What the signed-in person may do, so that pages offer only that. The procedures refuse the rest in any case. */
export function useMay(): { write: boolean; manage: boolean } {
  const { role, isSuspended } = useAccount() ?? { role: 'viewer', isSuspended: false }
  return { write: role !== 'viewer' && !isSuspended, manage: mayManage(role) }
}
