import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useActionData, useLoaderData, useLocation } from '@remix-run/react'
import { QueueSettings } from '../../server/queues/forms.ts'
import type { Api } from '../../server/router.ts'
import { allChannels, answer, formOf, problemOf, shown, signedIn, withOthers } from '../api.ts'
import { Moves } from '../queues/moves.tsx'
import { NextTimes } from '../queues/next-times.tsx'
import { PauseForm } from '../queues/queue-card.tsx'
import { DeleteQueue, MakeDefault } from '../queues/queue-end.tsx'
import { QueueForm } from '../queues/queue-form.tsx'
import { queueStrings } from '../queues/strings.tsx'
import { WaitingPosts } from '../queues/waiting-posts.tsx'
import { WeeklyTimes } from '../queues/weekly-times.tsx'
import { useZone } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import { Alert } from '../ui/alert.tsx'
import { Notice } from '../ui/notice.tsx'
import { Card, PageHead } from '../ui/page.tsx'
import { timeZones } from '../ui/time/time-zone.ts'
import { Warning } from '../ui/warning.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: data ? queueStrings.queuePageTitle(data.queue.name) : queueStrings.pageTitle },
]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const id = args.params.id!
  const [queue, next, waiting, moves, channels] = await Promise.all([
    shown(api.queues.get({ id })),
    shown(api.queues.next({ id, limit: 5 })),
    shown(api.queues.waiting({ id })),
    shown(api.queues.moves({ id })),
    allChannels(api),
  ])
  const query = new URL(args.request.url).searchParams
  const zones = timeZones(member.timeZone, queue.timeZone)
  const asked = { said: query.get('said') ?? '', isDeleting: query.has('delete') }
  return json({ queue, next: next.dates, waiting, moves, channels, zones, ...asked })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const id = args.params.id!
  const form = formOf(args.context)
  const intent = String(form.get('intent'))
  if (intent === 'settings')
    return answer(form, QueueSettings, async (settings, began) => {
      await api.queues.update({ id, ...withOthers(settings, began, await api.queues.get({ id })) })
      return { said: queueStrings.form.saved, saved: settings }
    })
  if (intent === 'add-time' && !form.has('weekday')) return json({ intent, problem: queueStrings.times.noDay }, 400)
  try {
    return redirect(await changed(api, id, intent, form))
  } catch (error) {
    const { detail, errors, status } = problemOf(error)
    return json({ intent, problem: errors[0]?.message ?? detail }, status)
  }
}

/** Do what a button of the page asks. Returns where to go then. */
async function changed(api: Api, id: string, intent: string, form: FormData): Promise<string> {
  const page = `/queues/${id}`
  if (intent === 'pause' || intent === 'resume') {
    await api.queues.update({ id, paused: intent === 'pause' })
    return `${page}?said=${intent}`
  }
  if (intent === 'delete') {
    await api.queues.remove({ id })
    return '/queues?deleted'
  }
  if (intent === 'move') {
    await api.queues.move({ id, moves: movesIn(form) })
    return `${page}?said=move`
  }
  if (intent === 'default') await api.queues.update({ id, isDefault: true })
  else if (intent === 'reorder') await api.queues.reorder({ id, postIds: String(form.get('order')).split(',') })
  else if (intent === 'add-time') await api.queues.addTimes({ id, times: timesIn(form) })
  else await api.queues.removeTime({ id, time: timeIn(form) })
  return page
}

function movesIn(form: FormData) {
  const pairs = String(form.get('moves') ?? '').split(',')
  return pairs.map((pair) => {
    const [postId = '', date = ''] = pair.split(' ')
    return { postId, date }
  })
}

function timesIn(form: FormData) {
  const time = String(form.get('time') ?? '').slice(0, 5) // some browsers add seconds
  return form.getAll('weekday').map((weekday) => ({ weekday: Number(weekday), time }))
}

function timeIn(form: FormData) {
  const [weekday, time = ''] = String(form.get('time') ?? '').split(' ')
  return { weekday: Number(weekday), time }
}

export default function ShowQueue() {
  const { queue, next, waiting, moves, channels, zones, said, isDeleting } = useLoaderData<typeof loader>()
  const { key } = useLocation()
  const { write } = useMay()
  const zone = useZone()
  const failed = useActionData() as { intent: string; problem?: string } | undefined
  const problem = failed?.problem ?? null
  const isOfTimes = failed?.intent === 'add-time'
  const sentence = sentences[said]?.(queue.name)
  const { name, timeZone, channelIds } = queue
  const { isDefault, datesIn } = queueStrings.card
  const lead = [queue.isDefault ? isDefault : null, zone === timeZone ? null : datesIn(zone)]
    .filter(Boolean)
    .join(' · ')
  return (
    <>
      {sentence ? <Notice key={key}>{sentence}</Notice> : null}
      <PageHead title={name} lead={lead}>
        {write ? <PauseForm queue={queue} nameId="waiting" /> : null}
      </PageHead>
      {problem && !isOfTimes ? <Alert className="mb-5">{problem}</Alert> : null}
      {queue.pausedAt && said !== 'pause' ? <Warning>{queueStrings.pausedLead}</Warning> : null}
      <div className="space-y-6">
        {write && moves.length > 0 ? <Moves moves={moves} waiting={waiting} /> : null}
        <WaitingPosts posts={waiting} queue={queue} />
        <NextTimes dates={next} />
        <WeeklyTimes queue={queue} problem={isOfTimes ? problem : null} />
        {write ? (
          <Card title={queueStrings.form.settings}>
            <QueueForm intent="settings" queue={{ name, timeZone, channelIds }} channels={channels} zones={zones} />
          </Card>
        ) : null}
        {write && !queue.isDefault ? <MakeDefault /> : null}
        {write ? <DeleteQueue name={name} isAsked={isDeleting} /> : null}
      </div>
    </>
  )
}

const sentences: Record<string, (name: string) => string> = {
  created: () => queueStrings.created,
  pause: queueStrings.paused,
  resume: queueStrings.resumed,
  move: () => queueStrings.moves.moved,
}
