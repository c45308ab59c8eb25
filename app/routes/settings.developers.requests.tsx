import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { ListTree } from 'lucide-react'
import type { ApiRequest as Shown } from '../../server/api-requests/list.ts'
import type { Fault } from '../../server/errors.ts'
import type { Api } from '../../server/router.ts'
import { problemOf, signedIn } from '../api.ts'
import { ApiRequest } from '../developers/api-request.tsx'
import { CallFilters } from '../developers/call-filters.tsx'
import { requestStrings } from '../developers/strings.tsx'
import { mayManage } from '../shell/permissions.ts'
import { ButtonLink } from '../ui/forms/button.tsx'
import { askedOf, withInstants } from '../ui/forms/filters.ts'
import { Paging } from '../ui/lists/paging.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: requestStrings.pageTitle }]

const Path = '/settings/developers/requests'
const PageLimit = 50
const names = ['credential', 'method', 'status', 'problem', 'path', 'requestId', 'from', 'to']

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const mayRead = mayManage(member.role)
  const asked = askedOf(args.request, names)
  const cursor = new URL(args.request.url).searchParams.get('cursor') ?? ''
  const [{ status, ...page }, credentials] = mayRead
    ? await Promise.all([pageOf(api, asked, cursor, member.timeZone), credentialsOf(api)])
    : [nothing, { keys: [], apps: [] }]
  return json({ mayRead, asked, isFirstPage: !cursor, ...page, ...credentials }, status)
}

type Found = { status: number; requests: Shown[]; nextCursor: string | null; faults: Fault[] }

const nothing: Found = { status: 200, requests: [], nextCursor: null, faults: [] }

type Wanted = Parameters<Api['requests']['list']>[0]

/** A page of requests, or the faults of the filters. */
async function pageOf(api: Api, asked: Record<string, string>, cursor: string, zone: string): Promise<Found> {
  const wanted = { ...withInstants(asked, zone), limit: PageLimit, ...(cursor ? { cursor } : {}) } as Wanted
  try {
    const { data, nextCursor } = await api.requests.list(wanted)
    return { ...nothing, requests: data, nextCursor }
  } catch (error) {
    const { status, errors } = problemOf(error)
    return { ...nothing, status, faults: errors }
  }
}

async function credentialsOf(api: Api) {
  const [keys, apps] = await Promise.all([api.keys.list(), api.approvedApps.list()])
  const named = ({ id, name }: { id: string; name: string }) => ({ id, name })
  return { keys: keys.map(named), apps: apps.map(named) }
}

export default function Requests() {
  const { mayRead, asked, isFirstPage, requests, nextCursor } = useLoaderData<typeof loader>()
  if (!mayRead) return <PageHead title={requestStrings.title} lead={requestStrings.forManagersOnly} />
  return (
    <>
      <PageHead
        title={requestStrings.title}
        lead={requestStrings.lead(
          <Link to="/docs" className="text-accent-ink underline underline-offset-2">
            {requestStrings.api}
          </Link>,
        )}
      />
      <CallFilters />
      {requests.length > 0 ? (
        <ol className="mb-6 divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
          {requests.map((request) => (
            <li key={request.id} className="px-4 py-3.5 sm:px-5">
              <ApiRequest request={request} />
            </li>
          ))}
        </ol>
      ) : (
        <NoRequests />
      )}
      <Paging path={Path} filters={asked} isFirstPage={isFirstPage} nextCursor={nextCursor} />
    </>
  )
}

function NoRequests() {
  const { none, noMatch } = requestStrings
  const { asked, isFirstPage, faults } = useLoaderData<typeof loader>()
  if (faults.length > 0) return null
  if (Object.keys(asked).length > 0 || !isFirstPage)
    return (
      <Empty icon={<ListTree aria-hidden />} title={noMatch.title}>
        <p>{noMatch.text}</p>
      </Empty>
    )
  return (
    <Empty icon={<ListTree aria-hidden />} title={none.title}>
      <p>{none.text}</p>
      <ButtonLink to="/settings/developers/access">{none.generateKey}</ButtonLink>
    </Empty>
  )
}
