import type { Role } from '../../db/schema/accounts.ts'

/** Whether to offer what owners and admins do: the procedures refuse it to the others, whatever a page shows. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}
