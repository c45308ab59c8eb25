import type { Role } from '../../db/schema/accounts.ts'

/** Whether a role may do what owners and admins do, so that pages offer it. The procedures refuse it to others in any case. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}
