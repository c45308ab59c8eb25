import { scopes as allScopes, defaultScopes, type Scope } from '../access/scopes.ts'

// RFC 6749 §4.1.1 with PKCE (RFC 7636) and the issuer in the answer (RFC 9207). Pure functions: the caller reads the client.

const StateLength = 4096 // encoded; it is kept until the person answers

/** The client that a request names. */
export type RegisteredClient = { redirectUris: string[] }

/** An authorization request that a person may see. `state` is as it arrived, percent-encoded. */
export type AuthorizationRequest = RedirectTarget & {
  scopes: Scope[]
  codeChallenge: string | null
}

/** Where the answer goes, known as soon as the client and its redirect URI are. */
export type RedirectTarget = { redirectUri: string; wasRedirectNamed: boolean; state: string | null }

/** Shown to the person, never redirected: the client or the redirect URI is not certain (§4.1.2.1). */
export class PageError extends Error {
  readonly forMaker: string // the message for the app's developer
  constructor(message: string, forMaker = message) {
    super(message)
    this.forMaker = forMaker
  }
}

/** Sent back to the client's redirect URI (§4.1.2.1). */
export class RedirectError extends Error {
  readonly error: string
  readonly target: RedirectTarget
  readonly forMaker: string
  constructor(error: string, description: string, target: RedirectTarget, forMaker = description) {
    super(description)
    this.error = error
    this.target = target
    this.forMaker = forMaker
  }
}

/** The parameters of a raw query, each value still encoded. Empty ones count as absent (§3.1). */
export type QueryParameters = Map<string, string[]>

export function parametersOf(query: string): QueryParameters {
  const parameters: QueryParameters = new Map()
  for (const part of query.split('&')) {
    const [, name = '', value = ''] = part.match(/^([^=]*)=?(.*)$/s) ?? []
    if (value !== '') parameters.set(decoded(name) ?? name, [...(parameters.get(decoded(name) ?? name) ?? []), value])
  }
  return parameters
}

/** The client_id of a request. Throws PageError when it is missing, repeated or not readable. */
export function clientIdOf(parameters: QueryParameters): string {
  const values = parameters.get('client_id') ?? []
  const value = values.length === 1 ? decoded(values[0]!) : null
  if (value === null) throw new PageError('This link has no client_id, or more than one.')
  return value
}

/**
 * Check the rest of a request against its client.
 *
 * Throws PageError when the redirect URI is not certain, RedirectError for everything else that is wrong.
 */
export function checkRequest(parameters: QueryParameters, client: RegisteredClient): AuthorizationRequest {
  const target = redirectTargetOf(parameters, client)
  const fail = (error: string, description: string, forMaker?: string): never => {
    throw new RedirectError(error, description, target, forMaker)
  }
  const one = (name: string): string | null => {
    const values = parameters.get(name) ?? []
    if (values.length > 1) fail('invalid_request', `${name} is given twice.`)
    const value = values[0]
    return value === undefined ? null : (decoded(value) ?? fail('invalid_request', `${name} can't be read.`))
  }
  if ((parameters.get('state') ?? []).length > 1) fail('invalid_request', 'state is given twice.')
  if (parameters.has('state') && target.state === null)
    fail('invalid_request', `state is longer than ${StateLength} characters.`)
  const responseType = one('response_type')
  if (responseType === null) fail('invalid_request', 'response_type is missing.')
  if (responseType !== 'code') fail('unsupported_response_type', 'response_type must be code.')
  const scope = one('scope')
  const named = `scope is ${scope?.slice(0, 300)}. These scopes exist, separated by spaces: ${allScopes.join(' ')}.`
  const scopes = scopesIn(scope) ?? fail('invalid_scope', 'scope contains an unknown scope.', named)
  return { ...target, scopes, codeChallenge: challengeIn(one('code_challenge'), one('code_challenge_method'), fail) }
}

/** The address that answers `target` with `parameters`, its own query kept, state byte for byte, the issuer added. */
export function answerUrl(target: RedirectTarget, issuer: string, parameters: Record<string, string>): string {
  const { redirectUri, state } = target
  const pairs = Object.entries({ ...parameters, iss: issuer }).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  )
  if (state !== null) pairs.push(`state=${state}`)
  const joint = !redirectUri.includes('?') ? '?' : /[?&]$/.test(redirectUri) ? '' : '&'
  return `${redirectUri}${joint}${pairs.join('&')}`
}

function redirectTargetOf(parameters: QueryParameters, { redirectUris }: RegisteredClient): RedirectTarget {
  const named = parameters.get('redirect_uri') ?? []
  if (named.length > 1) throw new PageError('This link has more than one redirect_uri.')
  const redirectUri = named.length === 0 ? redirectUris[0]! : decoded(named[0]!)
  if (redirectUri === null || !isRegistered(redirectUris, redirectUri)) {
    const message = 'The redirect_uri must match a redirect URL of the app exactly.'
    throw new PageError(
      message,
      `redirect_uri is ${named[0]!.slice(0, 300)}. It must match a registered redirect URL exactly.`,
    )
  }
  const states = parameters.get('state') ?? []
  const state = states.length === 1 ? asItCame(states[0]!) : ''
  const isReturned = state !== '' && state.length <= StateLength
  return { redirectUri, wasRedirectNamed: named.length === 1, state: isReturned ? state : null }
}

/** Whether `uri` is one of those that a client has registered (§3.1.2.3). */
export function isRegistered(redirectUris: string[], uri: string): boolean {
  return redirectUris.some((registered) => isSame(registered, uri))
}

// Byte for byte; a loopback address may have another port, which an app on a desktop learns late (RFC 8252 §7.3).
function isSame(registered: string, named: string): boolean {
  if (registered === named) return true
  const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?([/?].*)?$/
  const [ours, theirs] = [registered.match(loopback), named.match(loopback)]
  if (!URL.canParse(named)) return false // a port that does not exist
  return ours !== null && theirs !== null && ours[1] === theirs[1] && (ours[2] ?? '') === (theirs[2] ?? '')
}

// Encoded as it was, except for characters that a URL cannot have. `+` is a space, which not every client reads back.
function asItCame(value: string): string {
  return value.replaceAll('+', '%20').replace(/[^\x21-\x7e]|["<>\\^`{|}#]/gu, encodeURIComponent)
}

function scopesIn(value: string | null): Scope[] | null {
  if (value === null) return defaultScopes
  const named = [...new Set(value.split(' ').filter(Boolean))]
  return named.every((name): name is Scope => (allScopes as readonly string[]).includes(name)) && named.length > 0
    ? named
    : null
}

function challengeIn(
  challenge: string | null,
  method: string | null,
  fail: (error: string, description: string) => never,
): string | null {
  if (challenge === null && method === null) return null
  if (challenge === null) return fail('invalid_request', 'code_challenge_method is given without a code_challenge.')
  if (method !== 'S256') return fail('invalid_request', 'code_challenge_method must be S256.')
  if (!/^[\w-]{43}$/.test(challenge))
    return fail('invalid_request', 'code_challenge must be 43 characters of base64url.')
  return challenge
}

/** Decode form-encoded text. Null for text that is not UTF-8 or has a NUL, which the database does not accept. */
export function decoded(value: string): string | null {
  try {
    const text = decodeURIComponent(value.replaceAll('+', ' '))
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
