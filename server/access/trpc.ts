import { initTRPC } from '@trpc/server'
import type { Logger } from 'pino'
import type { Db, Tx } from '../../db/client.ts'
import type { Env } from '../../db/env.ts'
import type { Files } from '../../db/files/files.ts'
import type { Role } from '../../db/schema/accounts.ts'
import type { KeyRing } from '../../db/sealed.ts'
import type { Networks } from '../../jobs/networks/registry.ts'
import type { Reserve } from '../../jobs/outbound/bounded.ts'
import type { Outbound } from '../../jobs/outbound/outbound.ts'
import { Failure, mayPass, unavailable } from '../errors.ts'
import { type Actor, isOperator } from './credentials.ts'
import { isWriting, type Scope } from './scopes.ts'

/** What all requests of the process share. */
export type Installation = {
  db: Db
  env: Env
  ring: KeyRing
  files: Files
  networks: Networks
  outbound: Outbound
}

/**
 * The Idempotency-Key of a request, the `route` that it is good for, and the SHA-256 of the body. `replayed` is set when
 * its first answer was given again.
 */
export type Idempotency = { key: string; route: string; bodyHash: Uint8Array; replayed: boolean }

/**
 * A file that an organisation is uploading. Its reserved storage is free again when it is disposed, or a minute after
 * its process dies.
 */
export type Upload = AsyncDisposable & {
  /** Reserve one of the organisation's places for fetches. False: none is free. */
  takePlace: () => Promise<boolean>
  /** Reserve storage for at least `bytes`, and for what is `expected` if there is room. Throws `storage_full`. */
  reserve: Reserve
  /** Turn what was reserved into the `bytes` of the row that `tx` writes next, which counts from then on. Throws `storage_full`. */
  settle: (tx: Tx, bytes: number) => Promise<void>
}

/** What a procedure is called with. */
export type Context = Installation & {
  actor: Actor | null
  log: Logger
  address: string // the caller's, as far as TRUST_PROXY lets us know
  device?: string | null | undefined // the token in its cookie, of a page's caller
  idempotency: Idempotency | null
  upload?: Upload | null | undefined // of a request that brings a file
  untilGone?: (() => AbortSignal) | undefined // aborted when the caller goes away before the answer
}

const t = initTRPC.context<Context>().meta<{ scope?: Scope }>().create()

export const router = t.router
export const callerFactory = t.createCallerFactory

/** For anybody. An unreachable database is a Failure like any other, so pages need not know the driver's errors. */
export const open = t.procedure.use(async ({ next }) => {
  const result = await next()
  const error = result.ok || result.error instanceof Failure ? null : result.error // a Failure's cause is somebody else's server
  if (error && mayPass(error.cause)) throw unavailable(error.cause)
  return result
})

/** For any valid credential or session. */
export const authenticated = open.use(({ ctx, next }) => {
  if (!ctx.actor) throw new Failure('unauthenticated')
  return next({ ctx: { actor: ctx.actor, organisationId: ctx.actor.organisationId } })
})

/** For a person who is signed in. */
export const signedIn = open.use(({ ctx, next }) => {
  if (ctx.actor?.kind !== 'member') throw new Failure('unauthenticated', { detail: 'Sign in first.' })
  return next({ ctx: { actor: ctx.actor, organisationId: ctx.actor.organisationId } })
})

/** For owners and admins of the organisation. */
export const owner = signedIn.use(({ ctx, next }) => {
  requireRole(ctx.actor.role, 'admin')
  return next()
})

/** For the installation's operators, in any organisation. Everybody else gets `not_found`. */
export const operator = open.use(({ ctx, next }) => {
  if (ctx.actor?.kind !== 'member' || !isOperator(ctx.env, ctx.actor.email)) throw new Failure('not_found')
  const { id, name } = ctx.actor
  return next({ ctx: { operator: { id, name } } })
})

/** For credentials with `scope`, and for members whose role comes with it. */
export function needs(scope: Scope) {
  return authenticated.meta({ scope }).use(({ ctx, next }) => {
    requireScope(ctx.actor, scope)
    return next()
  })
}

/** Throws `insufficient_scope`, `role_too_low` or `organisation_suspended` unless the actor has what `scope` requires. */
export function requireScope(actor: Actor, scope: Scope): void {
  if (actor.kind === 'member') requireRole(actor.role, roleFor[scope])
  else if (!actor.scopes.includes(scope))
    throw new Failure('insufficient_scope', { detail: `The credential doesn't have the scope ${scope}.` })
  if (actor.isSuspended && isWriting(scope)) throw new Failure('organisation_suspended')
}

const roleFor: Record<Scope, Role> = {
  'channels:read': 'viewer',
  'posts:read': 'viewer',
  'posts:write': 'editor',
  'media:read': 'viewer',
  'media:write': 'editor',
  'webhooks:manage': 'admin',
}
const ranks: Role[] = ['viewer', 'editor', 'admin', 'owner']

function requireRole(role: Role, least: Role): void {
  if (ranks.indexOf(role) < ranks.indexOf(least))
    throw new Failure('role_too_low', { detail: `This requires the role ${least} or higher. Your role is ${role}.` })
}
