import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import type { Media } from '../../server/media/media.ts'
import { allChannels, formOf, shown, signedIn } from '../api.ts'
import { compose } from '../posts/composer/compose.ts'
import { Composer } from '../posts/composer/composer.tsx'
import { composerStrings } from '../posts/composer/strings.tsx'
import { useAccount } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import { PageHead } from '../ui/page.tsx'
import { nextHour } from '../ui/time-zone.ts'

export const meta: MetaFunction = () => [{ title: composerStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const from = new URL(args.request.url).searchParams.get('from')
  const [channels, model, media] = await Promise.all([
    allChannels(api),
    from ? shown(api.posts.get({ id: from })) : null,
    from ? api.media.ofPost({ postId: from }) : ([] as Media[]),
  ])
  // With one channel there is nothing to choose.
  const only = channels.length === 1 ? channels.map(({ id }) => id) : []
  const { content, channelIds } = model ?? { content: '', channelIds: only }
  return json({ channels, media, start: { content, channelIds, ...nextHour(member.timeZone) } })
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  return compose(api, formOf(args.context), member.timeZone, null)
}

export default function NewPost() {
  const { channels, media, start } = useLoaderData<typeof loader>()
  const { write } = useMay()
  const isSuspended = useAccount()?.isSuspended
  if (isSuspended) return <PageHead title={composerStrings.title} lead={composerStrings.suspended} />
  if (!write) return <PageHead title={composerStrings.title} lead={composerStrings.notAllowed} />
  return (
    <>
      <PageHead title={composerStrings.title} />
      <Composer post={null} channels={channels} media={media} start={start} />
    </>
  )
}
