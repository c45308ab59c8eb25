import { z } from 'zod'
import { Count, Id, Instant } from '../answers.ts'

export const Media = z
  .object({
    id: Id,
    kind: z.enum(['image', 'video']),
    mime: z.string(),
    bytes: Count,
    width: Count.nullable(),
    height: Count.nullable(),
    durationMs: Count.nullable(),
    alt: z.string(),
    url: z.string(),
    thumbnailUrl: z.string().nullable(),
    sha256: z.string().meta({ description: 'Hex, of the file as it is stored.' }),
    createdAt: Instant,
  })
  .meta({ id: 'Media' })
