import { z } from 'zod'
import { scopes } from '../access/scopes.ts'
import { Id } from '../answers.ts'

export const Me = z
  .object({
    organisation: z.object({ id: Id, name: z.string() }),
    credential: z.object({
      kind: z.enum(['member', 'api_key', 'app']),
      name: z.string(),
      scopes: z.array(z.enum(scopes)),
    }),
  })
  .meta({ id: 'Me' })
