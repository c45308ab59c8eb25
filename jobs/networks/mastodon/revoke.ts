import { z } from 'zod'
import { PublishError, type Revoking } from '../network.ts'
import { reaching } from '../origin.ts'
import { failureOf } from '../verdict.ts'

// Channels from before we stored the app with the token have no app.
const Revocable = z.object({
  instance: z.string(),
  token: z.string(),
  clientId: z.string().optional(),
  clientSecret: z.string().optional(),
})

/** https://docs.joinmastodon.org/methods/oauth/#revoke, RFC 7009 */
export const mastodonRevoking: Revoking = {
  isSame: (one, other) => one.instance === other.instance && one.token === other.token,
  async revoke(credential, { outbound, signal }) {
    const { instance, token, clientId, clientSecret } = Revocable.parse(credential)
    const { host } = new URL(instance)
    if (!clientId || !clientSecret)
      throw new PublishError(
        'refused',
        `${host} requires the app that the channel was connected with, and we no longer have it.`,
      )
    const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
    const answer = await reaching(instance, null, () => outbound.post(`${instance}/oauth/revoke`, { form, signal }))
    if (answer.ok) return
    const { verdict } = failureOf(answer, { network: host, reason: null, secrets: [token, clientSecret] })
    const isFinal = verdict === 'refused' || verdict === 'reconnect'
    throw new PublishError(
      isFinal ? 'refused' : 'later',
      `${host} did not revoke our access (status ${answer.status}).`,
    )
  },
}
