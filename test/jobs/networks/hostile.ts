import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { expect } from 'vitest'
import { ConnectError, PublishError } from '../../../jobs/networks/network.ts'
import { OutboundError } from '../../../jobs/outbound/outbound.ts'

// What a server that a member connects may answer: up to 1 MiB, for a list of statuses up to 2 MiB.

export const AnswerBytes = 1024 * 1024
export const ListBytes = 2 * AnswerBytes

/** The limit in milliseconds of processor time for one answer, including sending it. The goal is a tenth. */
const AtMostMs = 500

const BlockedAtMostMs = 500
const ReadingAtMostMs = 5000 // a page of 400 statuses, each of which is compared

const pieces = {
  'tags that never end': '<',
  'links that never end': '<a ',
  'addresses that never end': '<a href="',
  'links in links': '<a>x',
  'ends of what never began': '</b>',
  comments: '<!--',
  titles: '<title>',
  ampersands: '&',
  'entities that never end': '&#',
  'hexadecimal entities': '&#x41',
  entities: '&amp;',
  escapes: '%',
  'escapes of half a letter': '%c3',
  mentions: '@a',
  'long mentions': '@a.a',
  digits: '9',
  blanks: ' \t',
  'line ends': '\n',
  'control characters': '\u0001',
  'tag characters': '\u{E0041}',
  'Chinese letters': '漢',
  emoji: '🎉',
  'combining marks': 'a\u0301\u0301',
  'combining marks of one letter': '\u0301\u0316',
  'Markdown brackets': '[',
  dots: '.',
}

/** Hostile strings of up to `bytes` as JSON, by name. */
function strings(bytes: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(pieces).map(([name, piece]) => [
      name,
      piece.repeat(Math.floor(bytes / Buffer.byteLength(JSON.stringify(piece)))),
    ]),
  )
}

/** Hostile answers of up to `bytes`, by name. `holding` builds an answer with a string of up to `room` bytes in it. */
export function hostileBodies(bytes: number, holding: (hostile: string) => unknown): Record<string, string> {
  const room = bytes - JSON.stringify(holding('')).length
  const copies = JSON.stringify(holding('x')).split('"x"').length - 1
  const held = Object.entries(strings(Math.floor(room / Math.max(copies, 1))))
  return {
    ...strings(bytes),
    ...Object.fromEntries(held.map(([name, text]) => [`${name} in JSON`, JSON.stringify(holding(text))])),
    'arrays that never end': '['.repeat(bytes),
    'nested arrays': '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
    'nested objects': '{"a":'.repeat(Math.floor(bytes / 6)) + '1'.concat('}'.repeat(Math.floor(bytes / 6))),
    'reasons in reasons': reasons(bytes),
    'tag characters in errors in errors': deepTags(bytes),
    'empty objects': `[${'{},'.repeat(Math.floor(bytes / 3) - 1)}{}]`,
    'a huge number': '9'.repeat(bytes),
    'huge numbers': `[${'1e400,'.repeat(Math.floor(bytes / 6) - 1)}1]`,
    'many keys': `{${Array.from({ length: Math.floor(bytes / 13) }, (_, n) => `"k${n}":1`).join(',')}}`,
    backslashes: `"${'\\\\'.repeat(bytes / 2 - 1)}"`,
  }
}

function deepTags(bytes: number): string {
  const tags = JSON.stringify('\u{E0041}'.repeat(Math.floor((bytes - 100) / 4)))
  return `${'{"error":'.repeat(6)}${tags}${'}'.repeat(6)}`
}

// Each place where a reason may be holds the same number of places again.
function reasons(bytes: number): string {
  const names = ['error', 'message', 'detail', 'title', 'errors', 'details', 'description', 'reason', 'issues', 'msg']
  let inner = '{}'
  while (inner.length * names.length < bytes) inner = `{${names.map((name) => `"${name}":${inner}`).join(',')}}`
  return inner
}

/** The most expensive answer so far. */
export const dearest = { name: '', ms: 0 }

/** Checks that `work` is cheap with any answer, and throws only what a network may throw. */
export async function costsLittle(name: string, work: () => Promise<unknown>): Promise<void> {
  const [from, at] = [process.cpuUsage(), performance.now()]
  const error = await work().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  const { user, system } = process.cpuUsage(from)
  const cost = { name, ms: Math.round(Math.min((user + system) / 1000, performance.now() - at)) }
  if (cost.ms > dearest.ms) Object.assign(dearest, cost)
  if (error) expect([name, error, isDocumented(error)]).toEqual([name, error, true])
  expect(cost).toEqual({ name, ms: expect.toSatisfy((ms: number) => ms < AtMostMs, `under ${AtMostMs} ms`) })
}

/** Checks how long `work` blocks everything else, and its processor time. It may not throw. */
export async function turnsOften(name: string, work: () => Promise<unknown>): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  const from = process.cpuUsage()
  delay.enable()
  await work()
  delay.disable()
  const { user, system } = process.cpuUsage(from)
  const ms = Math.round((user + system) / 1000)
  // Work blocks others only while it runs. A delay that is longer than all the work comes from the machine.
  const cost = { name, blockedMs: Math.min(Math.round(delay.max / 1e6), ms), ms }
  const under = (limit: number) => expect.toSatisfy((ms: number) => ms < limit, `under ${limit} ms`)
  expect(cost).toEqual({ name, blockedMs: under(BlockedAtMostMs), ms: under(ReadingAtMostMs) })
}

function isDocumented(error: unknown): boolean {
  return [PublishError, OutboundError, ConnectError].some((kind) => error instanceof kind)
}
