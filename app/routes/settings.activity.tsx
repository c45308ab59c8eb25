import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { History } from 'lucide-react'
import { shown, signedIn } from '../api.ts'
import { Deed } from '../settings/audit-entry.tsx'
import { mayManage } from '../shell/permissions.ts'
import { Paging } from '../ui/lists/paging.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: 'Activity · Punctual' }]

const PageLimit = 50

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const cursor = new URL(args.request.url).searchParams.get('cursor') ?? undefined
  const mayRead = mayManage(member.role)
  const page = mayRead
    ? await shown(api.activity.list({ limit: PageLimit, ...(cursor ? { cursor } : {}) }))
    : { data: [], nextCursor: null }
  return json({ mayRead, isFirstPage: !cursor, deeds: page.data, nextCursor: page.nextCursor })
}

export default function Activity() {
  const { mayRead, isFirstPage, deeds, nextCursor } = useLoaderData<typeof loader>()
  if (!mayRead)
    return <PageHead title="Activity" lead="Owners and admins of this organisation read here what was done." />
  return (
    <>
      <PageHead
        title="Activity"
        lead="What was done with keys, apps and webhooks, by whom and from where. Nothing here can be changed."
      />
      {deeds.length > 0 ? (
        <ol className="mb-6 divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
          {deeds.map((deed) => (
            <li key={deed.id} className="px-4 py-3.5 sm:px-5">
              <Deed deed={deed} />
            </li>
          ))}
        </ol>
      ) : (
        <Empty icon={<History aria-hidden />} title="Nothing yet">
          <p>The first key, app, approval or webhook shows up here.</p>
        </Empty>
      )}
      <Paging path="/settings/activity" isFirstPage={isFirstPage} nextCursor={nextCursor} />
    </>
  )
}
