import { z } from 'zod'
import { cursor, Id, limit, text } from '../forms.ts'

/** What operators pause and resume: everything, a network by its key, a channel. */
export const Reach = z.discriminatedUnion('scope', [
  z.strictObject({ scope: z.literal('all') }),
  z.strictObject({ scope: z.literal('network'), name: text(50) }),
  z.strictObject({ scope: z.literal('channel'), id: Id }),
])
export const stuckKinds = ['overdue', 'uncertain', 'needs_review', 'held', 'suspects'] as const
export const ListStuck = z.strictObject({ kind: z.enum(stuckKinds), limit, cursor })
