import type express from 'express'
import { type Actor, credentialHolder, credentialIn } from '../access/credentials.ts'
import {
  addressKey,
  countWithin,
  fieldsOf,
  MinuteSeconds,
  type Quota,
  quotaOf,
  requireRest,
} from '../access/rate-limit.ts'
import { isAccessToken, isApiKey } from '../access/secrets.ts'
import type { Installation } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { addressOf } from '../http/client-address.ts'
import { noteCaller } from '../http/request-log.ts'
import { stateOf } from '../http/request-state.ts'

type Request = express.Request
type Response = express.Response

/**
 * Who calls the public API. Throws `unauthenticated` without a good credential, and `rate_limited` past the limit of
 * the organisation, or of an address whose credentials were refused.
 */
export async function authenticate(installation: Installation, req: Request, res: Response): Promise<Actor> {
  const credential = credentialIn(req.headers.authorization)
  if (!credential)
    throw new Failure('unauthenticated', {
      detail: 'Send an API key or an access token as the value of the Authorization header.',
    })
  const { actor, quota } = await identify(installation, credential, req, res)
  if (quota) requireRest(quota)
  if (!actor) throw new Failure('unauthenticated', { detail: whyRefused(credential) })
  return actor
}

/**
 * The owner of a credential; null when it is not valid. Counts the request, for the organisation or for the
 * address of a bad credential, and sets the rate limit headers. Past the limit it does not throw:
 * `res.locals.isPastLimit` says so.
 */
export async function identify(
  { db, env }: Installation,
  credential: string,
  req: Request,
  res: Response,
): Promise<{ actor: Actor | null; quota: Quota | null }> {
  const holder = await credentialHolder(db, credential, env.rateLimit > 0)
  if (holder) noteCaller(req, res, holder.actor)
  const counted = holder ? holder.count : await countOfAddress({ db, env }, req)
  const quota =
    counted && quotaOf(holder ? 'organisation' : 'address', holder ? env.rateLimit : env.authRateLimit, counted)
  if (quota) res.set(fieldsOf(quota))
  stateOf(res).isPastLimit = quota !== null && quota.remaining < 0
  return { actor: holder?.actor ?? null, quota }
}

async function countOfAddress({ db, env: { authRateLimit } }: Pick<Installation, 'db' | 'env'>, req: Request) {
  if (authRateLimit === 0) return null
  return countWithin(db, addressKey('api', addressOf(req)), MinuteSeconds, authRateLimit)
}

function whyRefused(credential: string): string {
  if (isApiKey(credential)) return 'This API key is unknown, revoked or expired.'
  if (isAccessToken(credential)) return 'This access token is unknown or revoked, or its app was deleted.'
  const kind = Object.keys(mistaken).find((prefix) => credential.startsWith(prefix))
  return kind ? mistaken[kind]! : 'This is neither an API key (pak_live_…) nor an access token (pos_…).'
}

const mistaken: Record<string, string> = {
  pak_: 'This API key is incomplete or mistyped. A key starts with pak_live_, and its last characters are a checksum.',
  pos_: 'This access token is incomplete or mistyped.',
  pcs_: 'This is a client secret. Send the access token that you got for a code.',
  pca_: 'This is a client ID. Send the access token that you got for a code.',
}
