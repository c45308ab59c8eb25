import type { DeliveryState } from '../../db/schema/ledger.ts'

/** Where a delivery is, in the operators' words. */
export const stateWords: Record<DeliveryState, string> = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  claimed: 'Claimed',
  sending: 'Being sent',
  uncertain: 'Uncertain',
  held: 'Held',
  published: 'Published',
  failed: 'Failed',
  needs_review: 'Needs review',
  cancelled: 'Cancelled',
}
