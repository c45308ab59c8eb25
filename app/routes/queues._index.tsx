import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { ListOrdered } from 'lucide-react'
import { allChannels, signedIn } from '../api.ts'
import { QueueCard } from '../queues/queue-card.tsx'
import { NoChannels } from '../queues/queue-form.tsx'
import { queueStrings } from '../queues/strings.tsx'
import { useMay } from '../shell/permissions.ts'
import { ButtonLink } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: queueStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const [{ data: queues }, channels] = await Promise.all([api.queues.list({ limit: 100 }), allChannels(api)])
  const next = await Promise.all(queues.map(({ id }) => api.queues.next({ id, limit: 1 })))
  const isDeleted = new URL(args.request.url).searchParams.has('deleted')
  return json({ queues, channels, next: next.map(({ dates }) => dates[0] ?? null), isDeleted })
}

export default function Queues() {
  const { queues, channels, next, isDeleted } = useLoaderData<typeof loader>()
  const { write } = useMay()
  return (
    <>
      <PageHead title={queueStrings.title} lead={queueStrings.lead}>
        {write && channels.length > 0 ? (
          <ButtonLink to="/queues/new" look="primary">
            {queueStrings.newQueue}
          </ButtonLink>
        ) : null}
      </PageHead>
      {isDeleted ? <Notice>{queueStrings.deleted}</Notice> : null}
      {queues.length === 0 ? <NoQueues hasChannels={channels.length > 0} /> : null}
      {queues.length > 0 ? (
        <ul className="divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
          {queues.map((queue, i) => (
            <li key={queue.id}>
              <QueueCard queue={queue} channels={channels} next={next[i] ?? null} />
            </li>
          ))}
        </ul>
      ) : null}
    </>
  )
}

function NoQueues({ hasChannels }: { hasChannels: boolean }) {
  const strings = queueStrings.none
  return (
    <Empty icon={<ListOrdered aria-hidden />} title={strings.title}>
      <p>{strings.lead}</p>
      {hasChannels ? null : <NoChannels />}
    </Empty>
  )
}
