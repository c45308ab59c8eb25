import fc from 'fast-check'
import type { Operation, Schema } from './documented.ts'

/** By the name of a parameter or member: values with which a request may go well. */
export type Known = Record<string, readonly unknown[]>

/** One request: `path` below /public/v1 with its query. `body` null is none. */
export type Request = { path: string; headers: Record<string, string>; body: BodyInit | null }

/**
 * Requests of an operation, made from its own schemas: about half fit them, a quarter almost, a quarter are whatever
 * somebody may send. `path` is the documented one, `key` a credential that works.
 */
export function requests(path: string, operation: Operation, known: Known, key: string): fc.Arbitrary<Request> {
  const fitting = fc.record({
    path: pathOf(path, operation, known, fc.constant([])),
    headers: headersOf(operation, known, key),
    body: bodyOf(operation, known, (value) => value),
  })
  const nearly = fc.record({
    path: pathOf(
      path,
      operation,
      known,
      fc.array(fc.tuple(fc.constantFrom('limit', 'x', ''), rawText), { maxLength: 2 }),
    ),
    headers: headersOf(operation, known, key),
    body: bodyOf(operation, known, damaged),
  })
  const hostile = fc.record({
    path: pathOf(path, operation, {}, fc.array(fc.tuple(name(operation), rawText), { maxLength: 3 })),
    headers: fc
      .tuple(headersOf(operation, known, key), fc.dictionary(fc.constantFrom(...oddNames), headerText, { maxKeys: 3 }))
      .map(([good, odd]) => ({ ...good, ...odd })),
    body: anyBody(operation),
  })
  return fc.oneof(
    { weight: 2, arbitrary: fitting },
    { weight: 1, arbitrary: nearly },
    { weight: 1, arbitrary: hostile },
  )
}

const oddNames = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'accept',
  'range',
  'cookie',
  'x-forwarded-for',
  'x-http-method-override',
]

const nasty = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202e',
  '__proto__',
  'null',
  "' or 1=1 --",
  '-1',
  '1e999',
  '0000-01-01T00:00:00Z',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'http://[',
  'x'.repeat(101_000),
]
const hostileText = fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'binary', maxLength: 50 }))
const hostileValue = fc.oneof(
  hostileText,
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, 0, -1, 1.5, 1e308, true, [], {}, [[]], [null], Array(1000).fill('x'), 'x'.repeat(300_000)),
)

// Percent-encoded, not always rightly.
const rawText = fc.oneof(
  hostileText.map((text) => encodeURIComponent(text.slice(0, 2000).toWellFormed())),
  fc.constantFrom('%', '%00', '%FF%FE', '%ED%A0%80', '+', '%2e%2e%2f', 'a%00b', '%F0%9F%98%80'),
)
// Neither `.` nor `..`: a client resolves them.
const rawStep = rawText.filter((text) => !/^(\.|%2e){1,2}$/i.test(text))

/** What HTTP lets a header's value be (RFC 9110 §5.5). */
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
})

function pathOf(path: string, { parameters }: Operation, known: Known, more: fc.Arbitrary<[string, string][]>) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const steps = fc.tuple(...inPath.map((name) => usually(known[name]?.map(String), rawStep)))
  const query = fc.tuple(...parameters.filter((one) => one.in === 'query').map((one) => pairOf(one, known)))
  return fc.tuple(steps, query, more).map(([steps, named, more]) => {
    const pairs = [...named.flatMap((pair) => (pair ? [pair] : [])), ...more]
    const filled = inPath.reduce((path, name, i) => path.replace(`{${name}}`, () => steps[i]!), path)
    return pairs.length === 0 ? filled : `${filled}?${pairs.map((pair) => pair.join('=')).join('&')}`
  })
}

function pairOf({ name, schema }: Operation['parameters'][number], known: Known) {
  const value = fitTo(schema, known, name).map((value) => encodeURIComponent(String(value).toWellFormed()))
  return fc.option(
    value.map((value): [string, string] => [name, value]),
    { freq: 1 },
  )
}

function name({ parameters }: Operation): fc.Arbitrary<string> {
  return fc.constantFrom('x', 'id', '__proto__', ...parameters.map(({ name }) => encodeURIComponent(name)))
}

function headersOf({ parameters }: Operation, known: Known, key: string): fc.Arbitrary<Record<string, string>> {
  const named = parameters.filter((one) => one.in === 'header').map(({ name }) => [name, known[name] ?? []] as const)
  const some = fc.record(
    Object.fromEntries(named.map(([name, values]) => [name, usually(values.map(String), headerText)])),
    { requiredKeys: [] },
  )
  return some.map((some) => ({ ...(some as Record<string, string>), authorization: key }))
}

/** A body of the kind that the operation takes, `change` made to what fits it. */
function bodyOf(
  { requestBody }: Operation,
  known: Known,
  change: (value: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>,
) {
  const json = requestBody?.content['application/json']
  if (json) return change(fitTo(json.schema, known)).map((value) => JSON.stringify(value))
  const form = requestBody?.content['multipart/form-data']
  return form ? change(fitTo(form.schema, known)).map(formOf) : fc.constant(null)
}

function anyBody({ requestBody }: Operation): fc.Arbitrary<BodyInit | null> {
  if (!requestBody) return fc.constant(null)
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.constantFrom(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), new Uint8Array(300_000)),
  )
  const json = hostileValue.map((value) => JSON.stringify(value))
  return fc.oneof(
    bytes.map((bytes) => new Blob([bytes as Uint8Array<ArrayBuffer>])),
    json,
    json.map((text) => text.slice(0, -1)),
    fc.constant('['.repeat(50_000)),
  )
}

// A member left out, one of another kind, or one too many.
function damaged(fitting: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(fitting, fc.nat(), fc.constantFrom('drop', 'set', 'add'), hostileText, hostileValue)
    .map(([value, at, how, name, hostile]) => {
      const members = Object.entries(value as object)
      if (how === 'add' || members.length === 0) return { ...(value as object), [name]: hostile }
      const [chosen] = members[at % members.length]!
      return Object.fromEntries(
        members.flatMap(([name, member]) =>
          name !== chosen ? [[name, member]] : how === 'set' ? [[name, hostile]] : [],
        ),
      )
    })
}

function formOf(value: unknown): FormData {
  const form = new FormData()
  for (const [name, part] of Object.entries(value as object))
    form.append(name, part instanceof Blob ? part : typeof part === 'string' ? part : (JSON.stringify(part) ?? ''))
  return form
}

/** Values that fit a schema. `name` is the member that it stands under. */
function fitTo(schema: Schema, known: Known, name = ''): fc.Arbitrary<unknown> {
  return usually(known[name], anyOf(schema, known, name))
}

function anyOf(schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
  const { type, items, minItems = 0, maxItems = 3 } = schema
  const branches = schema.oneOf ?? schema.anyOf
  if (branches) return fc.oneof(...branches.map((branch) => fitTo(branch, known, name)))
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (type === 'object') return membersOf(schema, known)
  if (type === 'array')
    return fc.uniqueArray(fitTo(items!, known, name.replace(/s$/, '')), {
      minLength: minItems,
      maxLength: Math.min(maxItems, 3),
      comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    })
  if (type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 2 ** 31 })
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type !== 'string') throw new Error(`No values are known for ${JSON.stringify(schema)}.`)
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern))
  return fc.string({
    unit: 'grapheme',
    minLength: schema.minLength ?? 0,
    maxLength: Math.min(schema.maxLength ?? 50, 50),
  })
}

function membersOf({ properties = {}, required = [] }: Schema, known: Known): fc.Arbitrary<unknown> {
  const possible = Object.entries(properties).filter(([, { not }]) => !not)
  const members = Object.fromEntries(possible.map(([name, schema]) => [name, fitTo(schema, known, name)]))
  return fc.record(members, { requiredKeys: required })
}

function usually<T>(values: readonly T[] | undefined, otherwise: fc.Arbitrary<T>): fc.Arbitrary<T> {
  if (!values?.length) return otherwise
  return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: otherwise })
}
