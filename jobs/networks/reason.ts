import { plainReason } from './verdict.ts'

const SentencesAtMost = 4
const MembersAtMost = 5 // of a list, or of an object with unknown members
const DeepestReason = 6
const LongestEncoded = 3000
// We read at most this much, whatever a hostile server sends
const ValuesAtMost = 200
const CharactersAtMost = 20_000

// The fields in which servers put their reason, the most useful first.
const Telling = ['error', 'message', 'detail', 'title', 'errors', 'details', 'description', 'reason', 'issues', 'msg']

/**
 * A network's own reason in the JSON of a refusal, as one plain line of at most 300 characters. Null if it gives none.
 *
 * Mastodon sends a string as `error` (RFC 6749 §5.2: with `error_description`). Others send an object or a list there
 * (Hollo: what its schema found), or JSON in a string, or the field's name (`{"errors":{"status":["is too long"]}}`).
 */
export function reasonIn(body: unknown): string | null {
  const described = field(body, 'error_description')
  const told = typeof described === 'string' && described.trim() ? described : body
  const budget = { values: ValuesAtMost, characters: CharactersAtMost }
  const sentences = [...new Set(take(SentencesAtMost, sentencesIn(told, budget)))]
  return plainReason(sentences.join('; ')) || null
}

type Budget = { values: number; characters: number }

function* sentencesIn(value: unknown, budget: Budget, depth = 0): Generator<string> {
  if (depth > DeepestReason || budget.values-- <= 0) return
  const inner = typeof value === 'string' ? decoded(value) : value
  if (typeof inner === 'string') yield* said(inner, budget)
  else if (typeof inner === 'number' && depth > 0) yield String(inner)
  else if (Array.isArray(inner))
    for (const one of inner.slice(0, MembersAtMost)) yield* sentencesIn(one, budget, depth + 1)
  else if (typeof inner === 'object' && inner !== null) yield* sentencesOf(inner, budget, depth)
}

function* sentencesOf(object: object, budget: Budget, depth: number): Generator<string> {
  let isTold = false
  for (const name of Telling) {
    for (const sentence of sentencesIn(field(object, name), budget, depth + 1)) {
      isTold = true
      yield sentence
    }
  }
  if (!isTold && depth > 0) yield* fieldsOf(object, budget, depth)
}

/** Fields by name, each with what is wrong with it. */
function* fieldsOf(object: object, budget: Budget, depth: number): Generator<string> {
  let left = MembersAtMost
  for (const name in object) {
    if (Telling.includes(name)) continue // we have read it: it gave nothing
    if (left-- === 0) return
    const sentences = take(SentencesAtMost, sentencesIn(field(object, name), budget, depth + 1))
    if (sentences.length > 0) yield `${name}: ${sentences.join(', ')}`
  }
}

function* said(text: string, budget: Budget): Generator<string> {
  const part = text.slice(0, Math.min(LongestEncoded, budget.characters))
  budget.characters -= part.length
  const plain = plainReason(part)
  if (plain) yield plain
}

function decoded(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > LongestEncoded) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function field(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return isObject ? (value as Record<string, unknown>)[name] : undefined
}

function take<T>(most: number, values: Iterable<T>): T[] {
  const taken: T[] = []
  for (const value of values) if (taken.push(value) === most) break
  return taken
}
