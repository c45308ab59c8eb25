import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData, useSearchParams } from '@remix-run/react'
import { validate as isUuid, v7 as uuidv7 } from 'uuid'
import type { Override } from '../../jobs/ledger/post-view.ts'
import type { Media } from '../../server/media/media.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, formOf, shown, signedIn } from '../api.ts'
import { ChosenTime } from '../calendar/free-times/chosen-time.tsx'
import { channelsFor, chosenIn, takeChosen } from '../calendar/free-times/taking.ts'
import { compose } from '../posts/composer/compose.ts'
import { Composer } from '../posts/composer/composer.tsx'
import { composerStrings } from '../posts/composer/strings.tsx'
import { startOf, withOwnFiles } from '../posts/working-copy/start.ts'
import { Unfinished } from '../posts/working-copy/unfinished.tsx'
import { queueChoices } from '../queues/choices.ts'
import { useAccount } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import type { Handle } from '../shell/shell.tsx'
import { PageHead } from '../ui/page.tsx'
import { clockIn, nextHour, zoneIn } from '../ui/time/time-zone.ts'

export const handle: Handle = { composes: () => true }

export const meta: MetaFunction = () => [{ title: composerStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const query = new URL(args.request.url).searchParams
  const [from, asked] = [query.get('from'), query.get('copy') ?? '']
  const id = isUuid(asked) ? asked.toLowerCase() : uuidv7()
  const [channels, last, previews, model, media, chosen] = await Promise.all([
    allChannels(api),
    api.workingCopies.lastChannels(),
    api.channels.previews(),
    from ? shown(api.posts.get({ id: from })) : null,
    from ? api.media.ofPost({ postId: from }) : ([] as Media[]),
    chosenIn(api, query, member.timeZone),
  ])
  const files = await withOwnFiles(api, media, model?.overrides ?? [])
  // With one channel there is nothing to choose. With more, the person's last choice is the best guess.
  const likely = chosen ? channelsFor(chosen, last) : last
  const guess = channels.filter(({ id }) => channels.length === 1 || likely.includes(id)).map(({ id }) => id)
  const { content, channelIds, overrides } = model ?? { content: '', channelIds: guess, overrides: [] as Override[] }
  const connected = channelIds.filter((id) => channels.some((channel) => channel.id === id))
  const askedAt = clockIn(query.get('at')) // by a press in the calendar
  const zone = member.timeZone
  const clock = { ...(askedAt ?? nextHour(zone)), zone, isDateSuggested: askedAt === null }
  const tags = model?.tags.join(', ') ?? ''
  const fields = { content, channelIds: connected, media, overrides, tags, files, ...clock }
  const copy = { id, isNew: true, revision: 0, postVersion: null }
  if (asked && (await shown(api.workingCopies.isSent({ id })))) throw redirect(`/posts/${id}`)
  if (asked && (await shown(api.workingCopies.isElsewhere({ id })))) throw redirect('/posts/new')
  const [begun, unfinished, queues] = await Promise.all([
    startOf(api, { ...copy, fields }),
    asked ? noTexts : api.workingCopies.list(),
    queueChoices(api),
  ])
  return json({ channels, previews, unfinished, queues, chosen, ...begun })
}

const noTexts: Awaited<ReturnType<Api['workingCopies']['list']>> = []

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const form = formOf(args.context)
  const zone = zoneIn(form, member.timeZone)
  const answer = await compose(api, form, zone, null)
  const to = answer.headers.get('Location')
  if (!to) return answer
  const missed = await takeChosen(api, new URL(args.request.url).searchParams, form, zone)
  return missed ? redirect(`${to}&missed=${encodeURIComponent(missed)}`) : answer
}

export default function NewPost() {
  const { channels, previews, untouched, unfinished, chosen, copy, start } = useLoaderData<typeof loader>()
  const [query] = useSearchParams()
  const { write } = useMay()
  const isSuspended = useAccount()?.isSuspended
  if (isSuspended) return <PageHead title={composerStrings.title} lead={composerStrings.suspended} />
  if (!write) return <PageHead title={composerStrings.title} lead={composerStrings.notAllowed} />
  return (
    <>
      <PageHead title={composerStrings.title} />
      <Unfinished key={`unfinished ${query.get('copy')}`} texts={unfinished} />
      {chosen ? <ChosenTime {...chosen} /> : null}
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
