import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { QueueSettings } from '../../server/queues/forms.ts'
import { allChannels, answer, formOf, problemOf, signedIn } from '../api.ts'
import { freeName, usualTimes } from '../queues/queue.ts'
import { QueueForm } from '../queues/queue-form.tsx'
import { queueStrings } from '../queues/strings.tsx'
import { Card, PageHead } from '../ui/page.tsx'
import { timeZones } from '../ui/time/time-zone.ts'

export const meta: MetaFunction = () => [{ title: queueStrings.form.newPageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const channels = await allChannels(api)
  const only = channels.length === 1 ? channels.map(({ id }) => id) : []
  const queue = { name: '', timeZone: member.timeZone, channelIds: only }
  return json({ channels, queue, zones: timeZones(member.timeZone) })
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const form = formOf(args.context)
  if (form.get('intent') === 'own') {
    try {
      const channel = await api.channels.get({ id: String(form.get('channelId')) })
      const { data } = await api.queues.list({ limit: 100 })
      const wanted = { name: freeName(channel.name, data), timeZone: member.timeZone, times: usualTimes }
      const { id } = await api.queues.create({ ...wanted, channelIds: [channel.id] })
      return redirect(`/queues/${id}`)
    } catch (error) {
      const { detail, status } = problemOf(error)
      throw json({ detail }, status)
    }
  }
  return answer(form, QueueSettings, async (settings) => {
    const { id } = await api.queues.create({ ...settings, times: [] })
    return redirect(`/queues/${id}?said=created`)
  })
}

export default function NewQueue() {
  const { channels, queue, zones } = useLoaderData<typeof loader>()
  return (
    <>
      <PageHead title={queueStrings.form.newTitle} />
      <Card>
        <QueueForm intent="create" queue={queue} channels={channels} zones={zones} />
      </Card>
    </>
  )
}
