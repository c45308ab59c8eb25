import { activity } from './access/audit.ts'
import { type Context, callerFactory, router } from './access/trpc.ts'
import { account } from './accounts/account.ts'
import { keys } from './accounts/api-keys.ts'
import { requests } from './api-requests/list.ts'
import { channels } from './channels/channels.ts'
import { feeds } from './channels/feeds.ts'
import { media } from './media/media.ts'
import { approvedApps } from './oauth/approved-apps.ts'
import { apps } from './oauth/apps.ts'
import { authorize } from './oauth/authorize.ts'
import { operations } from './operations/operations.ts'
import { posts } from './posts/posts.ts'
import { webhooks } from './webhooks/webhooks.ts'

export const appRouter = router({
  account,
  activity,
  approvedApps,
  apps,
  authorize,
  channels,
  feeds,
  keys,
  media,
  operations,
  posts,
  requests,
  webhooks,
})

const createCaller = callerFactory(appRouter)

export type Api = ReturnType<typeof apiFor>

/** Every procedure, to be called in this process as the context's actor. Each throws Failure, or tRPC's error around one. */
export function apiFor(context: Context) {
  return createCaller(context)
}
