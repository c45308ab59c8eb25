import type { Env } from '../../db/env.ts'
import { Failure, type FailureCode, problemFrom } from '../errors.ts'
import { openApi } from './openapi.ts'

// The documentation pages' view of the API: the OpenAPI document, laid out to be read.

type Schema = {
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  default?: unknown
  maxLength?: number
  maxItems?: number
  format?: string
  $ref?: string
}
type Schemas = Record<string, Schema>
type Content = Record<string, { schema: Schema; example?: unknown }>
type Operation = {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema; examples?: object }> }>
}

/** One line of a table: a parameter or a member. */
export type Field = { name: string; where: string; type: string; isRequired: boolean; about: string }
export type Endpoint = {
  id: string
  method: string
  path: string
  title: string
  about: string
  group: string
  parameters: Field[]
  bodies: Field[][] // one for each form that the body may have
  answer: string // what comes back: the name of a schema, or nothing
  curl: string
  refusals: { status: string; codes: string[] }[]
}
export type Reference = {
  baseUrl: string
  endpoints: Endpoint[]
  schemas: { name: string; about: string; fields: Field[] }[]
  errors: { code: string; status: number; sentence: string; cure: string }[]
  faults: { code: string; cure: string }[] // what `errors` of a 422 may name
}

/** Everything that /docs shows. */
export function reference(env: Pick<Env, 'appUrl' | 'baseUrl'>): Reference {
  const { baseUrl } = env
  const document = openApi(env) as {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Schemas }
  }
  const { schemas } = document.components
  const endpoints = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => endpoint({ baseUrl, schemas }, method, path, operation)),
  )
  return {
    baseUrl: `${baseUrl}/public/v1`,
    endpoints,
    schemas: Object.entries(schemas)
      .filter(([name]) => !shownWithEndpoints(document.paths, schemas).has(name))
      .map(([name, schema]) => ({ name, about: schema.description ?? '', fields: fieldsOf(schema) })),
    errors: (Object.keys(cures) as FailureCode[]).map((code) => {
      const { status, title } = problemFrom(new Failure(code))
      return { code, status, sentence: title, cure: cures[code]! }
    }),
    faults: Object.entries(faultCures).map(([code, cure]) => ({ code, cure })),
  }
}

// Bodies are shown where they are sent, and a page of a list where it is answered.
function shownWithEndpoints(paths: Record<string, Record<string, Operation>>, schemas: Schemas): Set<string> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const bodies = operations.flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))
  const taken = bodies.flatMap(({ schema }) => [schema, ...formsOf(schema, schemas)]).map(nameIn)
  return new Set([...taken, ...Object.keys(schemas).filter((name) => listedIn(schemas[name]!))])
}

function formsOf(schema: Schema, schemas: Schemas): Schema[] {
  const whole = schemas[nameIn(schema)] ?? schema
  return whole.oneOf ?? whole.anyOf ?? [schema]
}

function nameIn({ $ref = '' }: Schema): string {
  return $ref.split('/').at(-1)!
}

function listedIn({ properties }: Schema): Schema | undefined {
  return properties?.nextCursor && properties.data?.items
}

type Site = { baseUrl: string; schemas: Schemas }

function endpoint({ baseUrl, schemas }: Site, method: string, path: string, operation: Operation): Endpoint {
  const { operationId: id, summary: title, description: about, tags, parameters, requestBody, responses } = operation
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema
  const answered = Object.entries(responses).find(([status]) => status.startsWith('2'))
  return {
    ...{ id, method: method.toUpperCase(), path, title, about, group: tags[0]! },
    parameters: parameters.map(({ name, in: where, required = false, description, schema }) => ({
      ...{ name, where, isRequired: required, type: typeOf(schema), about: description ?? boundOf(schema) },
    })),
    bodies: schema ? formsOf(schema, schemas).map((form) => fieldsOf(schemas[nameIn(form)] ?? form)) : [],
    answer: answerOf(answered?.[0] ?? '', Object.values(answered?.[1].content ?? {})[0]?.schema, schemas),
    curl: curlOf(baseUrl, method, path, requestBody?.content ?? {}),
    refusals: Object.entries(responses)
      .filter(([status]) => status >= '400')
      .map(([status, { content }]) => ({
        status,
        codes: Object.keys(Object.values(content ?? {})[0]?.examples ?? {}),
      })),
  }
}

function fieldsOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    ...{ name, where: 'body', type: typeOf(schema), isRequired: required.includes(name) },
    about: schema.description ?? boundOf(schema),
  }))
}

function typeOf(schema: Schema): string {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(typeOf))].join(' or ')
  if (schema.$ref) return nameIn(schema)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(String).join(' | ')
  if (schema.items) return `array of ${typeOf(schema.items)}`
  if (schema.properties) return `{ ${Object.keys(schema.properties).join(', ')} }`
  return schema.format === 'date-time' ? 'instant' : String(schema.type ?? 'anything')
}

function boundOf({ maxLength, maxItems, default: usual }: Schema): string {
  const bounds = [maxLength && `at most ${maxLength} characters`, maxItems && `at most ${maxItems}`]
  return [...bounds, usual !== undefined && `${String(usual)} unless given`].filter(Boolean).join(', ')
}

function answerOf(status: string, schema: Schema | undefined, schemas: Schemas): string {
  if (!schema) return `${status}, without a body`
  const item = listedIn(schemas[nameIn(schema)] ?? {})
  return `${status} ${item ? `a page of ${typeOf(item)}` : typeOf(schema)}`
}

function curlOf(baseUrl: string, method: string, path: string, content: Content): string {
  const way = method === 'get' ? '' : ` -X ${method.toUpperCase()}`
  const [type] = Object.keys(content)
  const json = type === 'application/json' ? JSON.stringify(content[type]?.example ?? {}) : null
  const body = json
    ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`
    : type
      ? ' \\\n  -F file=@lake.jpg'
      : ''
  return `curl${way} ${baseUrl}/public/v1${path} \\\n  -H "Authorization: $PUNCTUAL_KEY"${body}`
}

const faultCures: Record<string, string> = {
  channel_not_found: 'Name channels that GET /channels lists; an override names a channel of the post.',
  channel_needs_reconnect: 'An owner or admin reconnects the channel on the Channels page.',
  channel_disconnected: 'Connect the account again, or leave the channel out.',
  media_not_found: 'Upload the file first and name the id that comes back.',
  media_not_supported: 'Send fewer, smaller or other files: the message says what this channel takes.',
  content_empty: 'Write something or add media.',
  content_too_long: 'Shorten it by as much as the message says, or give the channel a text of its own in overrides.',
  date_in_past: 'Name an instant to come, or use the type now. Up to 60 s past counts as now.',
  date_too_far: 'At most five years ahead.',
  required: 'A scheduled post takes a date and at least one channel.',
  type_cannot_change: 'Only a draft becomes another type. Cancel the post and make a new one.',
}

/** What a developer does about each failure that the public API can answer with. */
const cures: Partial<Record<FailureCode, string>> = {
  invalid_request:
    'Read `errors`: each names the place and what is wrong there. A misspelt field is refused, never ignored. `errors` has the first 100; a JSON body may have 10,000 values.',
  unauthenticated:
    'Send the key or token as the value of the Authorization header, whole and unchanged. If it was revoked, has expired or its app was deleted, make another; `detail` says which it looks like.',
  insufficient_scope: 'Make a key with the scope that `detail` names, or ask for it when your app is authorised.',
  organisation_suspended:
    'Ask the operator of the site: no other request helps. Reading works, and accepted posts are kept.',
  not_found:
    'Check the path against the reference, and the id: it must belong to the organisation whose credential you send. What is not yours looks the same.',
  method_not_allowed: 'Use one of the methods in the Allow header.',
  post_already_publishing: 'Wait until the post is published or has failed, then read it again.',
  post_already_published: 'What is out stays out: delete it at the network, or make a new post.',
  post_already_cancelled: 'Make a new post.',
  post_failed: 'Retry it with POST /posts/{id}/retry, or cancel it. Read its deliveries for the reason.',
  post_needs_review:
    'Read the errors of its deliveries. If the post may be out, check the network. Then decide on each with POST /posts/{id}/deliveries/{channelId}/resolve: nothing is sent again until then.',
  nothing_to_retry: 'Only failed deliveries can be retried. Read the post for the state of each.',
  nothing_to_resolve: 'Only deliveries in NEEDS_REVIEW take a decision.',
  media_in_use: 'Take it out of the posts that are not out yet, or cancel them, then delete it.',
  webhook_off: 'Mend the receiver, then switch the webhook on: PATCH /webhooks/{id} with the status ACTIVE.',
  too_many_webhooks: 'Delete one that nobody listens to any more, or let one address take several events.',
  idempotency_key_in_use: 'Wait as long as Retry-After says and send the same request again.',
  stale_version: 'Read the post again. If you still want this, send it with the new ETag.',
  upload_too_slow:
    'Nothing came for 15 seconds, or the whole took an hour. Send it again on a better line, or have it fetched from a URL.',
  body_too_large: 'JSON may have 256 KB, an image 20 MB, a video 1 GB.',
  unsupported_media_type: 'Send application/json; uploads are multipart/form-data with a part named `file`.',
  unprocessable:
    'Read `errors`: each names the place, a code of its own and what stands in the way, for every channel at once.',
  idempotency_key_reused: 'Use a new key for each new thing; the same key goes with the same body only.',
  media_fetch_failed:
    'The address must be public, http or https, and lead to an image of at most 20 MB or a video of at most 1 GB.',
  media_not_accepted:
    'Send a JPEG, PNG, GIF, WebP or AVIF image of at most 20 MB, or an MP4, MOV or WebM video of at most 1 GB. `detail` says what this one is.',
  storage_full:
    'Delete files that no post uses, with DELETE /media/{id}; `detail` says how much is used. An operator can raise the limit.',
  rate_limited:
    'Wait as long as Retry-After says. The RateLimit header of each answer tells how much is left. Of files from a URL, 4 of an organisation are fetched at a time: 20 more wait, for 30 s at most.',
  internal: 'This is our mistake. Try again; if it stays, tell the operator the request id.',
  unavailable: 'Wait as long as Retry-After says and send the same request again, with its Idempotency-Key.',
}
