import { z } from 'zod'
import { cursor, Id, Instant, limit, text } from '../forms.ts'
import { requestMethods } from './methods.ts'

export const ListRequests = z.strictObject({
  credential: Id.optional(), // the key or the app
  method: z.enum(requestMethods).optional(),
  status: z
    .string()
    .regex(/^[1-5](xx|\d\d)$/i, 'Must be a status such as 404, or 4xx for all of that kind.')
    .optional(),
  problem: text(50).optional(), // the code of a refusal
  path: text(300).optional(), // how it begins, with /public/v1 or without
  requestId: text(100).trim().optional(), // of the answer's X-Request-Id
  from: Instant.optional(),
  to: Instant.optional(),
  limit,
  cursor,
})
