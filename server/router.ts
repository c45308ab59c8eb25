import type { z } from 'zod'
import { activity } from './access/audit.ts'
import type { Scope } from './access/scopes.ts'
import { type Context, callerFactory, router } from './access/trpc.ts'
import { account } from './accounts/account.ts'
import { keys } from './accounts/api-keys.ts'
import { mail } from './accounts/mail.ts'
import { newAddress } from './accounts/new-address.ts'
import { passwordReset } from './accounts/password-reset.ts'
import { signUp } from './accounts/sign-up.ts'
import { requests } from './api-requests/list.ts'
import { channels } from './channels/channels.ts'
import { feeds } from './channels/feeds.ts'
import { media } from './media/media.ts'
import { approvedApps } from './oauth/approved-apps.ts'
import { apps } from './oauth/apps.ts'
import { authorize } from './oauth/authorize.ts'
import { operations } from './operations/operations.ts'
import { calendar } from './posts/calendar.ts'
import { posts } from './posts/posts.ts'
import { workingCopies } from './posts/working-copies.ts'
import { queues } from './queues/queues.ts'
import { webhooks } from './webhooks/webhooks.ts'

export const appRouter = router({
  account,
  activity,
  approvedApps,
  apps,
  authorize,
  calendar,
  channels,
  feeds,
  keys,
  mail,
  media,
  newAddress,
  operations,
  passwordReset,
  posts,
  queues,
  requests,
  signUp,
  webhooks,
  workingCopies,
})

type Definition = { type: 'query' | 'mutation'; inputs: z.ZodType[]; meta?: { scope?: Scope } }

/** What a procedure is, by its path in the router (`posts.create`): its kind, its inputs' schemas, and the scope that it needs. */
export function definitionOf(path: string): Definition {
  const procedures = appRouter._def.procedures as unknown as Record<string, { _def: Definition }>
  return procedures[path]!._def
}

const createCaller = callerFactory(appRouter)

export type Api = ReturnType<typeof apiFor>

/** Every procedure, to be called in this process as the context's actor. Each throws Failure, or tRPC's error around one. */
export function apiFor(context: Context) {
  return createCaller(context)
}
