import { account } from './account.ts'
import { activity } from './activity.ts'
import { approvedApps } from './approved-apps.ts'
import { apps } from './apps.ts'
import { authorize } from './authorize.ts'
import { channels } from './channels.ts'
import { feeds } from './feeds.ts'
import { keys } from './keys.ts'
import { media } from './media.ts'
import { operations } from './operations.ts'
import { posts } from './posts.ts'
import { requests } from './requests.ts'
import { type Context, callerFactory, router } from './trpc.ts'
import { webhooks } from './webhooks.ts'

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
