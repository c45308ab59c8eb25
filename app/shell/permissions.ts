import type { Role } from '../../db/schema/accounts.ts'
import { useAccount } from './account.ts'

/** Whether a role may do what owners and admins do, so that pages offer it. The procedures refuse it to others in any case. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}

/** What the signed-in person may do, so that pages offer only that. The procedures refuse the rest in any case. */
export function useMay(): { write: boolean; manage: boolean } {
  const { role, isSuspended } = useAccount() ?? { role: 'viewer', isSuspended: false }
  return { write: role !== 'viewer' && !isSuspended, manage: mayManage(role) }
}
