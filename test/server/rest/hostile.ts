import fc from 'fast-check'

// Requests of the size that is allowed, made to cost as much as they can: many small things, deep things, long things,
// and what makes a bad pattern go back again and again.

/** What is sent. `path` has its query; headers hold no credential. */
export type Hostile = { method: string; path: string; headers: Record<string, string>; body?: string }

/** Where it is sent. `path` has `:name` for what may be anything; `body` is the kind that is read there, and its most bytes. */
export type Target = {
  name: string
  method: string
  path: string
  body?: { kind: 'json' | 'form' | 'oauth'; bytes: number; example: Record<string, unknown> }
}

const HeaderBytes = 15_000 // of 16 KB that Node.js reads of a request's head
const HalfHead = 7000

const short = 'a % %00 %2e + & = &a a=& a=b& ; , " \\ / /a . - _ [ [] [0] .a { } ( ) < <a @ a@ : 0 9 1-1, 0-0, W/"1",'
const more = 'en, en;q=0.1, ::1, https://a =% %E2%82%AC ~ * */*, $'
const spaced = [' ', '; ', 'a=b; ', ', ', '"1", ', '1.1.1.1, ', 'http://a.b/ ', '\t', 'a\t']
const units = [...short.split(' '), ...more.split(' '), ...spaced]
const wideUnits = [
  ...units,
  '\u20ac',
  '\u{1F468}\u200d',
  'e\u0301',
  '\u0301',
  '\u{1F1E9}',
  '\u200d',
  '\u3164',
  '\ufdfa',
  '\u202e',
  '\r\n',
  '\n',
  '\0',
]

const unit = (all: string[]) => fc.oneof(fc.constantFrom(...all), fc.string({ minLength: 1, maxLength: 6 }).map(plain))

/** Something before and after, and between them one thing again and again, for so many bytes. */
const filled = (bytes: number, all = units): fc.Arbitrary<string> =>
  fc
    .tuple(unit(all), fc.constantFrom('', 'a', '!', '"', '\\', 'x@y'), fc.constantFrom(1, 1, 1, 0.1))
    .map(([one, end, share]) => repeated(one, bytes * share - end.length) + end)

function repeated(one: string, bytes: number): string {
  return one.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(one))))
}

// What HTTP lets a header and a target be.
function plain(text: string): string {
  return text.replaceAll(/[^!-~]/g, 'x')
}

const headerNames = [
  ...['cookie', 'accept', 'accept-language', 'accept-encoding', 'authorization', 'range', 'if-range', 'if-match'],
  ...['if-none-match', 'if-modified-since', 'content-type', 'idempotency-key', 'x-forwarded-for', 'x-forwarded-host'],
  ...['forwarded', 'user-agent', 'referer', 'x-request-id', 'traceparent', 'x-http-method-override', 'prefer'],
]
const beginnings = [
  '',
  'Basic ',
  'Bearer ',
  'bytes=',
  '"',
  'session=',
  'multipart/form-data; boundary=',
  'application/json;',
  'text/html,',
]

const oneHeader = fc
  .tuple(fc.constantFrom(...headerNames), fc.constantFrom(...beginnings), filled(HeaderBytes))
  .map(([name, begin, value]) => ({ [name]: (begin + value).trim() }))
const manyHeaders = fc
  .tuple(unit(units), fc.integer({ min: 10, max: 900 }))
  .map(([value, count]) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-a${i}`, plain(value)])))

const parameters = [
  'cursor',
  'limit',
  'status',
  'from',
  'to',
  'network',
  'channelId',
  'next',
  'id',
  '_data',
  'said',
  'connect',
  'disconnect',
  'revoke',
  'kind',
  'path',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code',
  'resource',
  'index',
]
const inQuery = (text: string) => encodeURI(text).replaceAll('#', '%23')
const query = fc.oneof(
  filled(HalfHead).map((text) => inQuery(text).slice(0, HeaderBytes).replace(/%\w?$/, '')),
  fc
    .tuple(fc.constantFrom(...parameters), filled(HalfHead / 3))
    .map(([name, text]) => `${name}=${encodeURIComponent(text)}`),
  fc.constantFrom(...parameters).map((name) => `${name}=a&`.repeat(HalfHead / (name.length + 3))),
  fc.constant(Array.from({ length: 2500 }, (_, i) => `k${i}`).join('&')),
  filled(360).map((text) => `cursor=${Buffer.from(text).toString('base64url')}`),
  fc.constantFrom('[', '{"a":').map((one) => `cursor=${Buffer.from(one.repeat(60)).toString('base64url')}`),
)

/** A hostile request for `target`, one of many. */
export function hostile(target: Target): fc.Arbitrary<Hostile> {
  const { method, body } = target
  const path = fc
    .oneof({ weight: 5, arbitrary: fc.constant('x') }, { weight: 1, arbitrary: filled(HalfHead) })
    .map((step) => target.path.replaceAll(/:\w+/g, () => encodeURIComponent(step).slice(0, HeaderBytes / 2) || 'x'))
  const none = path.map((path) => ({ method, path, headers: {} }))
  const byHeader = fc
    .tuple(path, fc.oneof(oneHeader, manyHeaders))
    .map(([path, headers]) => ({ method, path, headers }))
  const byQuery = fc.tuple(none, query).map(([request, query]) => ({
    ...request,
    path: `${request.path}${request.path.includes('?') ? '&' : '?'}${query}`,
  }))
  if (!body) return fc.oneof(byHeader, byQuery)
  const byBody = fc
    .tuple(none, bodyOf(body))
    .map(([request, [type, body]]) => ({ ...request, headers: { 'content-type': type }, body }))
  return fc.oneof(
    { weight: 1, arbitrary: byHeader },
    { weight: 1, arbitrary: byQuery },
    { weight: 5, arbitrary: byBody },
  )
}

function bodyOf({ kind, bytes, example }: NonNullable<Target['body']>): fc.Arbitrary<[string, string]> {
  const json = fc.tuple(fc.constant('application/json'), jsonOf(bytes, example))
  const form = fc.oneof(urlEncoded(bytes, example), multipart(bytes, example))
  if (kind === 'json') return json
  return kind === 'form' ? form : fc.oneof(json, urlEncoded(bytes, example))
}

const members = [
  '"x"',
  '""',
  '{}',
  '[]',
  '0',
  'null',
  '1e999',
  '"01890000-0000-7000-8000-000000000000"',
  '"\\u0000"',
  '{"a":1}',
  '{"channelId":"x"}',
  '{"channelId":"x","content":"y"}',
]

function jsonOf(bytes: number, example: Record<string, unknown>): fc.Arbitrary<string> {
  const room = bytes - 1000
  const names = ['x', '__proto__', 'overrides', 'mediaIds', ...Object.keys(example)]
  const value = fc.oneof(
    fc.constantFrom(...members).map((one) => `[${repeated(`${one},`, room)}${one}]`),
    fc
      .constantFrom(...members)
      .map((one) => `[${`${one},`.repeat(20_000).slice(0, room - 100 - ((room - 100) % (one.length + 1)))}${one}]`),
    fc.constantFrom(['[', ']'], ['{"a":', '}']).map(([open = '', close = '']) => {
      const deep = Math.floor(room / (open.length + close.length)) - 1
      return `${open.repeat(deep)}0${close.repeat(deep)}`
    }),
    fc.constantFrom('"a":1,', '"":[],', '"__proto__":{},').map((one) => `{${repeated(one, room - 10)}"b":2}`),
    fc.constant(
      `{${Array.from({ length: Math.floor(room / 10) }, (_, i) => `"${i}":1`).join()}}`
        .slice(0, room)
        .replace(/,?"?\d*"?:?\d?$/, '}'),
    ),
    filled(room * 0.45, wideUnits)
      .map((text) => JSON.stringify(text).slice(0, room))
      .filter(isJson),
    fc.constant('1'.repeat(room)),
    fc.constant(`${' '.repeat(room)}1`),
  )
  const inside = fc.tuple(fc.constantFrom(...names), value).map(([name, value]) => {
    const others = Object.entries(example)
      .filter(([other]) => other !== name)
      .map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`)
    return `{${[...others, `${JSON.stringify(name)}:${value}`].join()}}`
  })
  return fc.oneof(
    { weight: 4, arbitrary: inside },
    { weight: 1, arbitrary: value },
    { weight: 1, arbitrary: fc.constantFrom('[', '{"a":').map((one) => repeated(one, bytes - 10)) },
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const oddFields: [string, string][] = [
  ['__intent__', '{"type":"update","payload":{"name":"a[4294967290]","value":"x"}}'],
  ['__state__', '{'],
  ['a[4294967290]', 'x'],
  ['constructor', 'x'],
]

function fieldsOf(bytes: number, example: Record<string, unknown>): fc.Arbitrary<[string, string][]> {
  const known = Object.entries(example).map(([name, value]): [string, string] => [name, String(value)])
  const names = fc.constantFrom('x', 'mediaIds', 'channelIds', 'scopes', 'events', ...Object.keys(example))
  return fc.oneof(
    fc
      .tuple(names, filled(bytes * 0.3, wideUnits))
      .map(([name, text]): [string, string][] => [...known.filter(([other]) => other !== name), [name, text]]),
    fc
      .tuple(names, fc.constantFrom(480, 20_000))
      .map(([name, count]): [string, string][] => [
        ...known,
        ...Array.from({ length: count }, (): [string, string] => [name, 'x']),
      ]),
    fc.constant(Array.from({ length: 490 }, (_, i): [string, string] => [`alt.${i}`, 'x'])),
    fc.constantFrom(...oddFields).map((odd): [string, string][] => [...known, odd]),
  )
}

function urlEncoded(bytes: number, example: Record<string, unknown>): fc.Arbitrary<[string, string]> {
  const body = fc.oneof(
    { weight: 3, arbitrary: fieldsOf(bytes, example).map((fields) => new URLSearchParams(fields).toString()) },
    { weight: 1, arbitrary: filled(bytes - 10).map((text) => plain(text)) },
  )
  return fc.tuple(fc.constant('application/x-www-form-urlencoded'), body)
}

function multipart(bytes: number, example: Record<string, unknown>): fc.Arbitrary<[string, string]> {
  const part = ([name, value]: [string, string]) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const broken = [
    '--x\r\n',
    '\r\n--',
    '\r\n--x',
    '\r\n-',
    `--x\r\nA: ${'b'.repeat(50)}\r\n\r\n`,
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n',
  ]
  const body = fc.oneof(
    { weight: 2, arbitrary: fieldsOf(bytes, example).map((fields) => `${fields.map(part).join('')}--x--\r\n`) },
    { weight: 1, arbitrary: fc.constantFrom(...broken).map((one) => repeated(one, bytes - 10)) },
    {
      weight: 1,
      arbitrary: filled(bytes - 200).map((text) => `--x\r\nContent-Disposition: form-data; ${text}\r\n\r\n`),
    },
  )
  return fc.tuple(
    fc.constantFrom('multipart/form-data; boundary=x', 'multipart/form-data; boundary=x', 'multipart/form-data; x'),
    body,
  )
}
