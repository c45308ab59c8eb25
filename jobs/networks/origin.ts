import ipaddr from 'ipaddr.js'
import { OutboundError } from '../outbound/outbound.ts'
import { addressRule } from '../outbound/public-address.ts'
import { ConnectError } from './network.ts'

const LongestAddress = 2000

/**
 * The origin of a server as a person types it: `social.example`, `https://social.example/@ada`, `@ada@social.example`.
 *
 * We keep http only if the name can't be a public server's. outbound.ts decides if we call such an address at all.
 * Throws ConnectError on `field`.
 */
export function originOf(typed: string, field: string): string {
  const text = typed.slice(0, LongestAddress).trim()
  const withScheme = /^https?:\/\//i.test(text) ? text : `https://${text.split('/')[0]?.split('@').at(-1)}`
  if (!URL.canParse(withScheme)) throw new ConnectError('Type an address such as social.example.', { field })
  const url = new URL(withScheme)
  if (url.protocol === 'http:' && !isPrivateName(url.hostname)) {
    throw new ConnectError(`Type https://${url.host}. Without encryption, others could read your credentials.`, {
      field,
    })
  }
  return url.origin
}

/** Run a step of connecting. If it can't reach the server, it throws ConnectError on `field`. */
export async function reaching<T>(origin: string, field: string | null, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new ConnectError(`${new URL(origin).host} did not answer. ${error.message}`, { field, cause: error })
  }
}

function isPrivateName(hostname: string): boolean {
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(literal)) return !addressRule([])(literal)
  return !hostname.includes('.') || /\.(localhost|internal|local|test)$/.test(hostname)
}
