import type { DeliveryError } from '../../db/schema/ledger.ts'
import { type Network, serverName, type Unclear } from '../networks/network.ts'

// What is said of a delivery of which nobody knows whether it is out.

/** A keyed network. */
export const repeatedError: DeliveryError = {
  code: 'outcome_unknown',
  message: 'Nobody knows whether it went out.',
  nextStep: 'It is sent again under the same key: if it is there already, it stays one post.',
}
/** It was read twice. */
export const absentError: DeliveryError = {
  code: 'outcome_unknown',
  message: 'It was sent and is not there: we looked twice.',
  nextStep: 'It is sent again.',
}

/** The code of an outcome that a reading left open: by it the next reading knows. */
export const UnclearCode = 'cannot_be_read'

/** Something is there that may be the post. */
export function unclearError({ message, url }: Unclear): DeliveryError {
  const nextStep =
    url === null
      ? 'Check the account. If the post is there, choose "It is there". If not, choose "Send again".'
      : `Is this the post? ${url} – If it is, choose "It is there". If not, choose "Send again".`
  return { code: UnclearCode, message, nextStep }
}

type Account = { remoteAccount: string }

/** It was looked for once more, after its channel was connected again. */
export function notSeen({ remoteAccount }: Account, network: Network | undefined): DeliveryError {
  const server = network ? serverName(network, remoteAccount) : 'the network'
  return {
    code: 'outcome_unknown',
    message: `We looked on ${server} once more after you reconnected the channel, and did not see the post.`,
    nextStep: 'Check the account. If the post is there, choose "It is there". If not, choose "Send again".',
  }
}

/** Nothing can be read that would tell. */
export function cannotTell({ remoteAccount }: Account, network: Network | undefined, why = ''): DeliveryError {
  const server = network ? serverName(network, remoteAccount) : 'The network'
  return {
    code: 'outcome_unknown',
    message: `${server} did not say whether the post went out, and we cannot find out. ${why}`.trim(),
    nextStep: 'Look at the account yourself, then say whether it is there.',
  }
}
