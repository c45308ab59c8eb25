import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData, useSearchParams } from '@remix-run/react'
import { validate as isUuid, v7 as uuidv7 } from 'uuid'
import type { Override } from '../../jobs/ledger/post-view.ts'
import type { Media } from '../../server/media/media.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, formOf, shown, signedIn } from '../api.ts'
import { compose } from '../posts/composer/compose.ts'
import { Composer } from '../posts/composer/composer.tsx'
import { composerStrings } from '../posts/composer/strings.tsx'
import { startOf, withOwnFiles } from '../posts/working-copy/start.ts'
import { Unfinished } from '../posts/working-copy/unfinished.tsx'
import { queueChoices } from '../queues/choices.ts'
import { useAccount } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import { PageHead } from '../ui/page.tsx'
import { nextHour } from '../ui/time-zone.ts'

export const meta: MetaFunction = () => [{ title: composerStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const query = new URL(args.request.url).searchParams
  const [from, asked] = [query.get('from'), query.get('copy') ?? '']
  const id = isUuid(asked) ? asked.toLowerCase() : uuidv7()
  const [channels, last, previews, model, media] = await Promise.all([
    allChannels(api),
    api.workingCopies.lastChannels(),
    api.channels.previews(),
    from ? shown(api.posts.get({ id: from })) : null,
    from ? api.media.ofPost({ postId: from }) : ([] as Media[]),
  ])
  const files = await withOwnFiles(api, media, model?.overrides ?? [])
  // With one channel there is nothing to choose. With more, the person's last choice is the best guess.
  const guess = channels.filter(({ id }) => channels.length === 1 || last.includes(id)).map(({ id }) => id)
  const { content, channelIds, overrides } = model ?? { content: '', channelIds: guess, overrides: [] as Override[] }
  const connected = channelIds.filter((id) => channels.some((channel) => channel.id === id))
  const clock = { ...nextHour(member.timeZone), isDateSuggested: true }
  const tags = model?.tags.join(', ') ?? ''
  const untouched = { content, channelIds: connected, media, overrides, tags, files, ...clock }
  const copy = { id, isNew: true, revision: 0, postVersion: null }
  if (asked && (await shown(api.workingCopies.isSent({ id })))) throw redirect(`/posts/${id}`)
  const [begun, unfinished, queues] = await Promise.all([
    startOf(api, { ...copy, untouched }),
    asked ? noTexts : api.workingCopies.list(),
    queueChoices(api),
  ])
  return json({ channels, previews, untouched, unfinished, queues, ...begun })
}

const noTexts: Awaited<ReturnType<Api['workingCopies']['list']>> = []

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  return compose(api, formOf(args.context), member.timeZone, null)
}

export default function NewPost() {
  const { channels, previews, untouched, unfinished, copy, start } = useLoaderData<typeof loader>()
  const [query] = useSearchParams()
  const { write } = useMay()
  const isSuspended = useAccount()?.isSuspended
  if (isSuspended) return <PageHead title={composerStrings.title} lead={composerStrings.suspended} />
  if (!write) return <PageHead title={composerStrings.title} lead={composerStrings.notAllowed} />
  return (
    <>
      <PageHead title={composerStrings.title} />
      <Unfinished key={`unfinished ${query.get('copy')}`} texts={unfinished} />
      <Composer
        key={query.get('copy')}
        post={null}
        channels={channels}
        copy={copy}
        start={start}
        untouched={untouched}
        previews={previews}
      />
    </>
  )
}
