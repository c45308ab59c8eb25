import type { Role } from '../../db/schema/accounts.ts'
import { useAccount } from './account.ts'

/** Whether a role may do what owners and admins do, so that pages offer it. The procedures refuse it to others in any case. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}

/** Whether a role may write posts. */
export function mayWrite(role: Role): boolean {
  return role !== 'viewer'
}

/** What the signed-in person may do, so that pages offer only that. The procedures refuse the rest in any case. */
export function useMay(): { write: boolean; manage: boolean } {
  const { role, isSuspended } = useAccount() ?? { role: 'viewer', isSuspended: false }
  return { write: mayWrite(role) && !isSuspended, manage: mayManage(role) }
}
