import { z } from 'zod'

// What the public API answers with, as zod: the types of the procedures' answers and the schemas of the OpenAPI document
// are both read from here and from each noun's answers.ts.

export const Id = z.string().meta({ description: 'Opaque.', examples: ['019a4c12-7d30-7c3e-9f5a-2b1d6c8e4f01'] })
export const Instant = z
  .string()
  .meta({ format: 'date-time', description: 'UTC, with milliseconds.', examples: ['2026-12-24T18:00:00.000Z'] })
export const Count = z.int().min(0)

export const Fault = z
  .object({
    path: z.string().meta({ description: 'The field, such as `channelIds[0]`. Empty: the whole request.' }),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'Fault', description: 'One problem with a request.' })

/** RFC 9457. */
export const Problem = z
  .object({
    type: z.url().meta({ description: 'URL of the page that explains the code.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    requestId: z.string().meta({ description: 'Also in X-Request-Id. Quote it when you ask for help.' }),
    errors: z.array(Fault),
  })
  .meta({ id: 'Problem', description: 'What went wrong (RFC 9457). Every failure has this shape.' })

/** A page of a list, named after what it lists. */
export function listOf(item: z.ZodType) {
  return z
    .object({
      data: z.array(item),
      nextCursor: z
        .string()
        .nullable()
        .meta({ description: 'Send it as `cursor` to get the next page. Null on the last page.' }),
    })
    .meta({ id: `${item.meta()!.id}Page` })
}
