import { useRouteLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'
import { mayManage } from './permissions.ts'

type Root = { account: Awaited<ReturnType<Api['account']['show']>> | null } // as root.tsx has read it

/** The signed-in person with the organisations that they may look at, or null. */
export function useAccount() {
  return useRouteLoaderData<Root>('root')?.account ?? null
}

/** The zone in which times are shown: the person's, and UTC to anybody else. */
export function useZone(): string {
  return useAccount()?.timeZone ?? 'UTC'
}

/** What to offer at all: the procedures refuse the rest, whatever a page shows. */
export function useMay(): { write: boolean; manage: boolean } {
  const { role, isSuspended } = useAccount() ?? { role: 'viewer', isSuspended: false }
  return { write: role !== 'viewer' && !isSuspended, manage: mayManage(role) }
}
