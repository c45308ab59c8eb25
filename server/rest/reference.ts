import type { Env } from '../../db/env.ts'
import { type FailureCode, failures, faultCures } from '../error-catalogue.ts'
import { Failure, problemFrom } from '../errors.ts'
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
    errors: errorsOfApi(),
    faults: Object.entries(faultCures).flatMap(([code, cure]) => (cure === null ? [] : [{ code, cure }])),
  }
}

function errorsOfApi(): Reference['errors'] {
  return (Object.keys(failures) as FailureCode[]).flatMap((code) => {
    const { sentence, cure } = failures[code]
    return cure === null ? [] : [{ code, status: problemFrom(new Failure(code)).status, sentence, cure }]
  })
}

// Bodies are shown with their request, and a page of a list with its response.
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
    id,
    method: method.toUpperCase(),
    path,
    title,
    about,
    group: tags[0]!,
    parameters: parameters.map(({ name, in: where, required = false, description, schema }) => ({
      name,
      where,
      isRequired: required,
      type: typeOf(schema),
      about: description ?? boundOf(schema),
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
    name,
    where: 'body',
    type: typeOf(schema),
    isRequired: required.includes(name),
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
  return schema.format === 'date-time' ? 'timestamp' : String(schema.type ?? 'any')
}

function boundOf({ maxLength, maxItems, default: usual }: Schema): string {
  const bounds = [maxLength && `at most ${maxLength} characters`, maxItems && `at most ${maxItems}`]
  return [...bounds, usual !== undefined && `default: ${String(usual)}`].filter(Boolean).join(', ')
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
