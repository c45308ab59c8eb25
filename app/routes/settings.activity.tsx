import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { History } from 'lucide-react'
import { shown, signedIn } from '../api.ts'
import { AuditEntry } from '../settings/audit-entry.tsx'
import { activityStrings } from '../settings/strings.tsx'
import { mayManage } from '../shell/permissions.ts'
import { Paging } from '../ui/lists/paging.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: activityStrings.pageTitle }]

const PageLimit = 50

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const cursor = new URL(args.request.url).searchParams.get('cursor') ?? undefined
  const mayRead = mayManage(member.role)
  const page = mayRead
    ? await shown(api.activity.list({ limit: PageLimit, ...(cursor ? { cursor } : {}) }))
    : { data: [], nextCursor: null }
  return json({ mayRead, isFirstPage: !cursor, events: page.data, nextCursor: page.nextCursor })
}

export default function Activity() {
  const { mayRead, isFirstPage, events, nextCursor } = useLoaderData<typeof loader>()
  if (!mayRead) return <PageHead title={activityStrings.title} lead={activityStrings.forManagersOnly} />
  return (
    <>
      <PageHead title={activityStrings.title} lead={activityStrings.lead} />
      {events.length > 0 ? (
        <ol className="mb-6 divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
          {events.map((event) => (
            <li key={event.id} className="px-4 py-3.5 sm:px-5">
              <AuditEntry event={event} />
            </li>
          ))}
        </ol>
      ) : (
        <Empty icon={<History aria-hidden />} title={activityStrings.none.title}>
          <p>{activityStrings.none.text}</p>
        </Empty>
      )}
      <Paging path="/settings/activity" isFirstPage={isFirstPage} nextCursor={nextCursor} />
    </>
  )
}
