import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { variablesWith } from '../../../db/env.ts'
import { attempts, deliveries } from '../../../db/schema/ledger.ts'
import { events, webhookAttempts } from '../../../db/schema/webhooks.ts'
import { openApi } from '../../../server/rest/openapi.ts'
import { routes } from '../../../server/rest/routes.ts'
import { aPhoto } from '../../builders.ts'
import { aQueue } from '../queues/queue-calls.ts'
import { type Answer, openWeb, type Web } from '../web.ts'
import { type Documented, pathIn, readDocument } from './documented.ts'

let w: Web
let d: Documented
let channelId: string
beforeAll(async () => {
  w = await openWeb()
  channelId = await w.channel()
  d = await readDocument(w)
})
afterAll(() => w.end())

describe('the document', () => {
  test('is served to anybody, and is the one that the table makes', async () => {
    const answer = await w.call('GET', '/openapi.json', { key: '' })
    expect(answer).toMatchObject({ status: 200, json: openApi({ appUrl: w.site.appUrl, baseUrl: w.site.appUrl }) })
    expect((await w.call('POST', '/openapi.json', { key: '' })).status).toBe(405)
  })

  test('is compressed for clients that accept it, and is 304 for clients that have it', async () => {
    const get = (headers: Record<string, string>) => w.call('GET', '/openapi.json', { key: '', headers })
    const zipped = await get({ 'accept-encoding': 'gzip' })
    const plain = await get({ 'accept-encoding': 'identity' })
    expect(zipped.json).toEqual(plain.json)
    const header = (name: string) => [zipped, plain].map(({ headers }) => headers.get(name))
    expect([header('content-encoding'), header('vary')]).toEqual([
      ['gzip', null],
      ['Accept-Encoding', 'Accept-Encoding'],
    ])
    const [tag, plainTag] = header('etag')
    expect(tag).not.toBe(plainTag)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
      const again = await get({ 'accept-encoding': 'gzip', 'if-none-match': known! })
      expect([again.status, again.headers.get('etag')]).toEqual([304, tag])
    }
    expect((await get({ 'accept-encoding': 'gzip', 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('names every body, and says which scope an app needs', () => {
    const served = openApi({ appUrl: w.site.appUrl, baseUrl: w.site.appUrl }) as unknown as Served
    expect(served.paths['/posts']!.post!.requestBody!.content['application/json']!.schema).toEqual({
      $ref: '#/components/schemas/NewPost',
    })
    const bodies = Object.values(served.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {})),
    )
    expect(bodies.filter(({ schema }) => schema.$ref === undefined)).toEqual([])
    expect(served.paths['/posts']!.post!.security).toContainEqual({ oauth2: ['posts:write'] })
  })

  test('and the table agree both ways', () => {
    const documented = Object.entries(d.document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    )
    expect(documented.sort()).toEqual(routes.map((route) => `${route.method} ${pathIn(route)}`).sort())
  })

  test.each(['redocly', 'spectral'])('passes %s without an error', async (linter) => {
    const folder = await mkdtemp(join(tmpdir(), 'punctual-openapi-'))
    const file = join(folder, 'openapi.json')
    const ruleset = join(folder, 'ruleset.json')
    const hosts = { appUrl: 'https://app.punctual.test', baseUrl: 'https://api.punctual.test' }
    await writeFile(file, JSON.stringify(openApi(hosts)))
    await writeFile(ruleset, JSON.stringify({ extends: ['spectral:oas'] }))
    const bin = join(import.meta.dirname, '../../../node_modules/.bin', linter)
    const options = linter === 'spectral' ? ['--ruleset', ruleset, '--fail-severity', 'warn'] : []
    const env = variablesWith({ REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' })
    const run = promisify(execFile)(process.execPath, [bin, 'lint', ...options, file], { cwd: folder, env })
    await expect(
      run.catch(({ stdout, stderr }) => Promise.reject(new Error(`${stdout}${stderr}`))),
    ).resolves.toBeDefined()
    await rm(folder, { recursive: true })
  })

  test.each(routes)('$method $path: its examples are what its own schemas say', (route) => {
    const { requestBody, responses } = d.operationOf(route)
    const contents = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}))
    const examples = contents.flatMap(({ schema, example, examples = {} }) =>
      [...(example ? [example] : []), ...Object.values(examples).map(d.exampleOf)].map(
        (value) => [schema, value] as const,
      ),
    )
    if (route.body === 'json') expect(requestBody?.content['application/json']?.example).toBeDefined()
    for (const [schema, value] of examples) expect([value, d.mismatches(schema, value)]).toEqual([value, []])
  })
})

type Served = {
  paths: Record<
    string,
    Record<string, { security: object[]; requestBody?: { content: Record<string, { schema: { $ref?: string } }> } }>
  >
}

describe('each route', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
  const make = async (type: 'schedule' | 'draft' = 'schedule') => {
    const json = { type, date: inAnHour(), content: 'hello', channelIds: [channelId] }
    return (await w.call('POST', '/posts', { json })).json.id as string
  }
  const inState = async (state: 'failed' | 'needs_review') => {
    const id = await make()
    await w.db.update(deliveries).set({ state }).where(eq(deliveries.postId, id))
    return id
  }
  const tried = async () => {
    const id = await inState('failed')
    const [delivery] = await w.db
      .select()
      .from(deliveries)
      .where(and(eq(deliveries.postId, id)))
    const times = { startedAt: sql`now()`, endedAt: sql`now()` }
    const own = { organisationId: w.organisationId, deliveryId: delivery!.id, owner: 'worker', credentialVersion: 1 }
    await w.db.insert(attempts).values({ ...own, ...times, no: 1, outcome: 'refused', status: 422, reply: '{}' })
    return id
  }
  const upload = async () => {
    const body = new FormData()
    body.append('file', new Blob([await aPhoto()]))
    return w.call('POST', '/media', { body })
  }
  const anImage = async () => (await upload()).json.id as string

  const aWebhook = async () => {
    const { json } = await w.call('POST', '/webhooks', { json: { url: 'https://hooks.punctual.test/' } })
    made.push(json.id)
    return json.id as string
  }
  const made: string[] = []
  afterEach(async () => {
    for (const id of made.splice(0)) await w.call('DELETE', `/webhooks/${id}`)
  })
  const tested = async () => {
    const id = await aWebhook()
    const delivery = (await w.call('POST', `/webhooks/${id}/test`)).json.id
    const own = { organisationId: w.organisationId, deliveryId: delivery, no: 1, durationMs: 7 }
    const call = { startedAt: new Date(), status: 500, reply: 'x', error: 'x', requestHeaders: { 'webhook-id': 'x' } }
    await w.db.insert(webhookAttempts).values({ ...own, ...call })
    await w.db.update(events).set({ body: '{}' })
    return { id, delivery }
  }

  /** A call of each route that goes well. */
  const firstQueue = async () => (await w.call('GET', '/queues?limit=1')).json.data[0].id
  const good: Record<string, () => Promise<Answer>> = {
    'get /me': () => w.call('GET', '/me'),
    'get /channels': () => w.call('GET', '/channels?limit=1&network=feed&status=ACTIVE'),
    'get /channels/:id': () => w.call('GET', `/channels/${channelId}`),
    'post /posts': () => w.call('POST', '/posts', { json: { type: 'now', content: 'x', channelIds: [channelId] } }),
    'post /posts/validate': () =>
      w.call('POST', '/posts/validate', { json: { type: 'now', content: '', channelIds: [channelId] } }),
    'get /posts': async () => {
      await make('draft')
      return w.call('GET', '/posts?limit=1&order=asc')
    },
    'get /posts/:id': async () => w.call('GET', `/posts/${await make()}`),
    'patch /posts/:id': async () =>
      w.call('PATCH', `/posts/${await make()}`, { json: { overrides: [{ channelId, content: 'y', mediaIds: [] }] } }),
    'delete /posts/:id': async () => w.call('DELETE', `/posts/${await make()}`),
    'post /posts/:id/retry': async () => w.call('POST', `/posts/${await inState('failed')}/retry`),
    'post /posts/:id/deliveries/:channelId/resolve': async () =>
      w.call('POST', `/posts/${await inState('needs_review')}/deliveries/${channelId}/resolve`, {
        json: { outcome: 'published', url: 'https://example.com/1' },
      }),
    'get /posts/:id/attempts': async () => w.call('GET', `/posts/${await tried()}/attempts`),
    'post /media': upload,
    'post /media/upload-from-url': async () =>
      w.call('POST', '/media/upload-from-url', { json: { url: (await upload()).json.url, alt: 'x' } }),
    'get /media': () => w.call('GET', '/media?limit=1'),
    'get /media/:id': async () => w.call('GET', `/media/${await anImage()}`),
    'patch /media/:id': async () => w.call('PATCH', `/media/${await anImage()}`, { json: { alt: 'x' } }),
    'delete /media/:id': async () => w.call('DELETE', `/media/${await anImage()}`),
    'get /queues': async () => {
      await aQueue({ call: w.call, channelId }, { name: 'First' })
      return w.call('GET', '/queues?limit=1')
    },
    'post /queues': () =>
      w.call('POST', '/queues', {
        json: { name: 'Second', timeZone: 'UTC', times: [{ weekday: 5, time: '17:30' }], channelIds: [channelId] },
      }),
    'get /queues/:id': async () => w.call('GET', `/queues/${await firstQueue()}`),
    'patch /queues/:id': async () => w.call('PATCH', `/queues/${await firstQueue()}`, { json: { paused: true } }),
    'delete /queues/:id': async () => {
      const { id } = await aQueue({ call: w.call, channelId }, { name: 'Third' })
      return w.call('DELETE', `/queues/${id}`)
    },
    'get /queues/:id/next': async () => w.call('GET', `/queues/${await firstQueue()}/next?limit=2`),
    'get /webhooks': async () => {
      await aWebhook()
      return w.call('GET', '/webhooks?limit=1')
    },
    'post /webhooks': async () => {
      const answer = await w.call('POST', '/webhooks', {
        json: { url: 'https://hooks.punctual.test/', events: ['post.failed'] },
      })
      made.push(answer.json.id)
      return answer
    },
    'get /webhooks/:id': async () => w.call('GET', `/webhooks/${await aWebhook()}`),
    'patch /webhooks/:id': async () => w.call('PATCH', `/webhooks/${await aWebhook()}`, { json: { status: 'OFF' } }),
    'delete /webhooks/:id': async () => w.call('DELETE', `/webhooks/${await aWebhook()}`),
    'post /webhooks/:id/rotate': async () => w.call('POST', `/webhooks/${await aWebhook()}/rotate`),
    'post /webhooks/:id/test': async () => w.call('POST', `/webhooks/${await aWebhook()}/test`),
    'get /webhooks/:id/deliveries': async () => w.call('GET', `/webhooks/${(await tested()).id}/deliveries?limit=1`),
    'post /webhooks/:id/deliveries/:deliveryId/resend': async () => {
      const { id, delivery } = await tested()
      return w.call('POST', `/webhooks/${id}/deliveries/${delivery}/resend`)
    },
    'get /openapi.json': () => w.call('GET', '/openapi.json', { key: '' }),
  }

  test.each(routes)('$method $path: that goes well answers what is documented', async (route) => {
    const answer = await good[`${route.method} ${route.path}`]!()
    expect([answer.status, answer.json?.detail]).toEqual([route.status, undefined])
    d.expectDocumented(route, answer)
  })
})
