import type { z } from 'zod'
import type { ApiFailureCode } from '../error-catalogue.ts'

/** Where the public API begins. */
export const Prefix = '/public/v1'

/** One row of the public API. `does` names the procedure: its scope and input are read from it. */
export type Route = {
  method: 'get' | 'post' | 'patch' | 'delete'
  path: string // below /public/v1, with `:name` for what goes to the procedure's input of that name
  status: 200 | 201 | 204
  does: string | null // null: serves the OpenAPI document, to anybody
  about: string // what it is for, in the documentation
  answer?: z.ZodType // what comes back
  query?: true // takes parameters in the URL
  body?: 'json' | 'file'
  takes?: string // the name of the body's schema
  example?: Record<string, unknown> // of a body
  idempotent?: true // takes an Idempotency-Key
  ifMatch?: true // takes If-Match
  location?: string // where the new thing is read, its id appended
  refusals?: ApiFailureCode[] // besides those that every route of its form has
}
