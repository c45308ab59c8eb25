import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../jobs/networks/network.ts'

/** The networks that a bench worker knows. Four, so that a cap of half the places a network binds nowhere. */
export const networkNames = ['bench0', 'bench1', 'bench2', 'bench3']

/** A network within the worker's own process that publishes after `delayMs`. `sent` hears of each send as it begins. */
export function benchNetwork(name: string, delayMs: number, sent: (publishKey: string) => void): Network {
  return {
    name,
    repeatedSend: 'keyed',
    verifiedAgainst: 'nothing',
    connecting: { by: 'form', connect: () => Promise.reject(new Error('This network has no accounts.')) },
    prepare: async ({ text }) => ({ text }),
    send: async ({ publishKey }) => {
      sent(publishKey)
      if (delayMs > 0) await sleep(delayMs)
      return { remoteId: publishKey, url: `https://example.org/${publishKey}` }
    },
  }
}
