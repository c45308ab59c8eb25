import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'
import type { Route } from '../../../server/rest/endpoint.ts'
import type { Answer, Web } from '../web.ts'

/** JSON Schema, as far as it is looked into here. */
export type Schema = {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  not?: Schema
  enum?: unknown[]
  const?: unknown
  pattern?: string
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
}
type Content = { schema: Schema; example?: unknown; examples?: Record<string, { $ref: string }> }
export type Operation = {
  parameters: { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, Content> }
  responses: Record<string, { headers: Record<string, unknown>; content?: Record<string, Content> }>
}

export type Documented = Awaited<ReturnType<typeof readDocument>>

/** The OpenAPI document as it is served, and what it says of answers. */
export async function readDocument(w: Web) {
  const document = (await w.call('GET', '/openapi.json', { key: '' })).json as {
    paths: Record<string, Record<string, Operation>>
    webhooks: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, Schema>; examples: Record<string, { value: unknown }> }
  }
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
    if (operation.requestBody) operation.requestBody = inlined(operation.requestBody, document.components.schemas)
  const compiled = new Map<Schema, ValidateFunction>()
  const operationOf = (route: Route) => document.paths[pathIn(route)]![route.method]!

  const exampleOf = ({ $ref }: { $ref: string }) => document.components.examples[$ref.split('/').at(-1)!]!.value

  /** Whether a value is what the document says, and holds nothing that it does not mention. */
  function mismatches(schema: Schema, value: unknown): unknown[] {
    const validate = compiled.get(schema) ?? compile({ ...schema, components: document.components })
    compiled.set(schema, validate)
    return validate(value) ? [] : (validate.errors ?? [])
  }

  function expectDocumented(route: Route, { status, json, headers }: Answer): void {
    const response = operationOf(route).responses[status]!
    expect(response, `${status} is not documented`).toBeDefined()
    const type = status < 400 ? 'application/json' : 'application/problem+json'
    if (status === 204) {
      expect(response.content).toBeUndefined()
      return
    }
    expect(headers.get('content-type')).toMatch(type)
    expect(mismatches(response.content![type]!.schema, json)).toEqual([])
    if (status >= 400) expect(Object.keys(response.content![type]!.examples!)).toContain(json.code)
  }
  return { document, operationOf, exampleOf, mismatches, expectDocumented }
}

// With the schemas that it refers to in their places.
function inlined<T>(value: T, schemas: Record<string, Schema>): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => inlined(one, schemas)) as T
  if ('$ref' in value) return inlined(schemas[String(value.$ref).split('/').at(-1)!], schemas) as T
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inlined(inner, schemas)])) as T
}

/** A route's path as OpenAPI writes it. */
export function pathIn({ path }: Route): string {
  return path.replaceAll(/:(\w+)/g, '{$1}')
}

function compile(schema: object): ValidateFunction {
  const ajv = new Ajv({ strict: false, allErrors: true })
  formats.default(ajv)
  const closed = (key: string, inner: unknown) =>
    key !== '' && inner && typeof inner === 'object' && 'properties' in inner
      ? { additionalProperties: false, ...inner }
      : inner
  return ajv.compile(JSON.parse(JSON.stringify(schema, closed)))
}
