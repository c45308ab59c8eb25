import type { Env } from '../../db/env.ts'
import { isWriting, type Scope, scopes } from '../access/scopes.ts'
import { Problem } from '../answers.ts'
import type { ApiFailureCode } from '../error-catalogue.ts'
import { Failure, problemFrom } from '../errors.ts'
import { Post } from '../posts/answers.ts'
import { definitionOf } from '../router.ts'
import { scopeWords } from '../words.ts'
import type { Route } from './endpoint.ts'
import { webhooksOf } from './openapi-events.ts'
import { type Json, named, type Schema, type Schemas, schemaOf, without } from './openapi-schemas.ts'
import { routes } from './routes.ts'

/**
 * The OpenAPI 3.1 document of the public API (https://spec.openapis.org/oas/v3.1.1), made from the table and the schemas
 * that serve the requests, so it says exactly what is checked.
 */
export function openApi({ appUrl, baseUrl }: Pick<Env, 'appUrl' | 'baseUrl'>): Json {
  const schemas: Schemas = {}
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operation(route, schemas) }
  }
  const met = [...new Set(routes.flatMap((route) => codesOf(route)))]
  schemaOf(Problem, 'output', schemas)
  const webhooks = webhooksOf(schemas)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Punctual',
      version: '1',
      summary: 'Schedule social posts and see what happened to them.',
      description: `Authentication, errors and how to fix them, and examples: ${appUrl}/docs\n\n${versioning}`,
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The operator of this installation', url: appUrl },
    },
    servers: [{ url: `${baseUrl}/public/v1` }],
    externalDocs: { url: `${appUrl}/docs` },
    security: securityWith([]),
    tags: tags.map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      examples: Object.fromEntries(met.map((code) => [code, { value: exampleOf(code) }])),
      securitySchemes: securitySchemes({ appUrl, baseUrl }),
      headers,
    },
  }
}

const versioning =
  'We only add to this version: members, optional parameters, event types and codes. Ignore those that you do not know. Any other change is a new version under a new path. Then the headers Deprecation and Sunset say when this version ends, a year ahead.'

function securitySchemes({ appUrl, baseUrl }: Pick<Env, 'appUrl' | 'baseUrl'>): Json {
  return {
    credential: {
      type: 'apiKey',
      in: 'header',
      name: 'Authorization',
      description: 'An API key or an access token, as the whole value of the header.',
    },
    bearer: { type: 'http', scheme: 'bearer', description: 'The same credentials, after `Bearer`.' },
    oauth2: {
      type: 'oauth2',
      description: `For apps that other organisations use, with PKCE: ${appUrl}/docs/oauth`,
      flows: {
        authorizationCode: {
          authorizationUrl: `${appUrl}/oauth/authorize`,
          tokenUrl: `${baseUrl}/oauth/token`,
          scopes: Object.fromEntries(scopes.map((scope) => [scope, scopeWords[scope]])),
        },
      },
    },
  }
}

function securityWith(needed: Scope[]): Json[] {
  return [{ credential: [] }, { bearer: [] }, { oauth2: needed }]
}

const tags: [string, string][] = [
  ['me', 'Who is calling.'],
  ['channels', 'Connected accounts that you publish to.'],
  ['posts', 'Posts and their deliveries.'],
  ['queues', 'Weekly times that posts take, one post a time.'],
  ['media', 'Images and videos for posts.'],
  ['webhooks', 'Send events to your server.'],
  ['openapi.json', 'This document.'],
]

const headers = {
  requestId: { description: 'Quote it when you ask for help.', schema: { type: 'string' } },
  etag: { description: 'The version of the post, for If-Match.', schema: { type: 'string' }, example: '"3"' },
  location: { description: 'The URL of what was created.', schema: { type: 'string', format: 'uri' } },
  link: { description: 'The next page, with rel="next".', schema: { type: 'string' } },
  replayed: { description: '`true` when this is the stored first response.', schema: { type: 'string' } },
  rateLimit: { description: 'How much of the limit is left, and when it resets.', schema: { type: 'string' } },
  rateLimitPolicy: { description: 'The limit, and its window in seconds.', schema: { type: 'string' } },
  retryAfter: { description: 'How many seconds to wait before you try again.', schema: { type: 'integer' } },
}

function operation(route: Route, schemas: Schemas): Json {
  const input = inputOf(route, schemas)
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  const body = bodyOf(route, without(input, [...inPath, 'ifVersions', 'path']), schemas)
  const scope = scopeOf(route)
  return {
    operationId: (route.does ?? 'openapi').replace(/\.(.)/, (_, letter: string) => letter.toUpperCase()),
    summary: route.about.split(/\.(?=\s|$)/)[0],
    description: `${route.about}.${scope ? ` Requires the scope \`${scope}\`.` : ''}`,
    tags: [route.path.split('/')[1]],
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(route.query ? queryOf(without(input, inPath)) : []),
      ...(route.idempotent ? [idempotencyKey] : []),
      ...(route.ifMatch ? [ifMatch] : []),
    ],
    ...(body ? { requestBody: body } : {}),
    security: route.does === null ? [] : securityWith(scope ? [scope] : []),
    responses: { [route.status]: success(route, schemas), ...refusals(route) },
  }
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'Send the same key and body again within 24 hours, and you get the first response. Nothing is done twice.',
}
const ifMatch = {
  name: 'If-Match',
  in: 'header',
  schema: { type: 'string' },
  example: '"3"',
  description: 'Do this only if the post still has this version. `*` means any version.',
}

function success({ status, answer, location, idempotent, query }: Route, schemas: Schemas): Json {
  const link = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })
  return {
    description: { 200: 'OK', 201: 'Created', 204: 'Done' }[status],
    headers: {
      'X-Request-Id': link('requestId'),
      ...limits,
      ...(answer === Post ? { ETag: link('etag') } : {}),
      ...(location ? { Location: link('location') } : {}),
      ...(idempotent ? { 'Idempotent-Replayed': link('replayed') } : {}),
      ...(query ? { Link: link('link') } : {}),
    },
    ...(status === 204
      ? {}
      : { content: { 'application/json': { schema: answer ? schemaOf(answer, 'output', schemas) : {} } } }),
  }
}

const limits = {
  RateLimit: { $ref: '#/components/headers/rateLimit' },
  'RateLimit-Policy': { $ref: '#/components/headers/rateLimitPolicy' },
}

// Each failure that a route can answer with, by its status.
function refusals(route: Route): Json {
  const byStatus = Map.groupBy(codesOf(route), (code) => problemFrom(new Failure(code)).status)
  return Object.fromEntries([...byStatus].map(([status, these]) => [status, refusal(status, these)]))
}

// Those of every route, those of its form, and its own.
function codesOf(route: Route): ApiFailureCode[] {
  return [
    'method_not_allowed',
    ...(route.does === null ? [] : ['invalid_request', 'unauthenticated', 'rate_limited', 'internal', 'unavailable']),
    ...(scopeOf(route) ? ['insufficient_scope'] : []),
    ...(isWriting(scopeOf(route)) ? ['organisation_suspended'] : []),
    ...(route.path.includes(':') ? ['not_found'] : []),
    ...(route.body ? ['body_too_large', 'unsupported_media_type'] : []),
    ...(route.body === 'file' ? ['upload_too_slow'] : []),
    ...(route.ifMatch ? ['stale_version'] : []),
    ...(route.idempotent ? ['idempotency_key_in_use', 'idempotency_key_reused'] : []),
    ...(route.refusals ?? []),
  ] as ApiFailureCode[]
}

function refusal(status: number, codes: ApiFailureCode[]): Json {
  const retry = status === 429 || status === 503 || codes.includes('idempotency_key_in_use')
  return {
    description: codes.map((code) => `\`${code}\`: ${new Failure(code).message}`).join('\n'),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/requestId' },
      ...(retry ? { 'Retry-After': { $ref: '#/components/headers/retryAfter' } } : {}),
    },
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  }
}

function exampleOf(code: ApiFailureCode): Json {
  const { retryAfterSeconds: _, ...problem } = problemFrom(new Failure(code))
  const requestId = '7f1d0c64-2a52-4c39-9b1c-0d0b7c9e5a11'
  return { type: `https://example.com/docs/errors#${code}`, ...problem, requestId }
}

function inputOf({ does }: Route, schemas: Schemas): Schema {
  if (does === null) return {}
  const { inputs } = definitionOf(does)
  return inputs[0] ? schemaOf(inputs[0], 'input', schemas) : {}
}

function scopeOf({ does }: Route): Scope | undefined {
  return does === null ? undefined : definitionOf(does).meta?.scope
}

function bodyOf({ body, takes, example }: Route, schema: Schema, schemas: Schemas): Json | null {
  if (body === undefined) return null
  if (body === 'json')
    return {
      required: true,
      content: { 'application/json': { schema: named(takes!, schema, schemas), ...(example ? { example } : {}) } },
    }
  const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } // many generators know `format` only
  const form = { type: 'object', required: ['file'], properties: { file, ...schema.properties } }
  return { required: true, content: { 'multipart/form-data': { schema: named(takes!, form, schemas) } } }
}

function queryOf({ properties = {}, required = [] }: Schema): Json[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !('default' in schema),
    ...(description ? { description } : {}),
    ...(schema.anyOf?.some(({ type }) => type === 'array') ? { style: 'form', explode: false } : {}), // with commas
    schema,
  }))
}
