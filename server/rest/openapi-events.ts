import { eventWords } from '../words.ts'
import { Event } from './event-answers.ts'
import { type Json, type Schemas, schemaOf } from './openapi-schemas.ts'

/** The part `webhooks` of the OpenAPI document: one call for each event, with its headers (https://www.standardwebhooks.com). */
export function webhooksOf(schemas: Schemas): Json {
  const bodies = Object.entries(Event).map(([noun, type]) => [noun, schemaOf(type, 'output', schemas)] as const)
  const bodyOf = (type: string) => bodies.find(([noun]) => nounOf(type) === noun)![1]
  return Object.fromEntries(
    Object.entries(eventWords).map(([type, about]) => [type, { post: call(type, about, bodyOf(type)) }]),
  )
}

function nounOf(type: string): string {
  return type === 'webhook.test' ? 'test' : type.split('.')[0]!
}

function call(type: string, about: string, schema: Json): Json {
  return {
    operationId: `on${type.replaceAll(/(?:^|[._])(.)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: about,
    description: `${about}. Sent at least once. Each attempt has the same webhook-id.`,
    tags: ['webhooks'],
    security: [],
    parameters: headers,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Received.' },
      '410': { description: 'The receiver is gone. We switch the webhook off.' },
      default: { description: 'Not received. We retry for about a day.' },
    },
  }
}

const headers = [
  header('webhook-id', 'Identifies the event. The same for each attempt and each webhook.'),
  header('webhook-timestamp', 'When this attempt was sent, in seconds since 1970.'),
  header('webhook-signature', 'The word v1, a comma, and an HMAC-SHA256 in base64. During a rotation there are two.'),
]

function header(name: string, description: string): Json {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } }
}
