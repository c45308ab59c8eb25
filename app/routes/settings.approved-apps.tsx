import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { ShieldCheck } from 'lucide-react'
import { ById } from '../../server/forms.ts'
import type { ApprovedApp } from '../../server/oauth/approved-apps.ts'
import { scopeWords } from '../../server/words.ts'
import { answer, formOf, signedIn } from '../api.ts'
import { AppMark } from '../developers/apps/app-mark.tsx'
import { useMay } from '../shell/account.ts'
import { Instant } from '../shell/instant.tsx'
import { Button, ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Tab } from '../ui/lists/tab.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead, Panel } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: 'Approved apps · Punctual' }]

const ApprovalsShown = 3

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  const apps = await api.approvedApps.list()
  return json({ asked, apps: 'mine' in asked ? apps.filter(({ isMine }) => isMine) : apps })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  return answer(formOf(args.context), ById, async (wanted) => {
    await api.approvedApps.revoke(wanted)
    return redirect('/settings/approved-apps?revoked')
  })
}

export default function ApprovedApps() {
  const { asked, apps } = useLoaderData<typeof loader>()
  const isMine = 'mine' in asked
  return (
    <>
      <PageHead title="Approved apps" lead="Programs of others that act for this organisation." />
      {'revoked' in asked ? <Notice>The app is stopped. It is refused from now on.</Notice> : null}
      <nav aria-label="Filter" className="mb-6">
        <ul className="flex gap-1">
          <Tab to="/settings/approved-apps" name="All" isCurrent={!isMine} />
          <Tab to="/settings/approved-apps?mine" name="Approved by me" isCurrent={isMine} />
        </ul>
      </nav>
      {apps.length > 0 ? <List /> : <NoApps isMine={isMine} />}
    </>
  )
}

function List() {
  const { apps, asked } = useLoaderData<typeof loader>()
  const { manage } = useMay()
  return (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
      {apps.map((app) => (
        <li key={app.id} className="px-4 py-5 sm:px-5">
          <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
            <AppMark app={app} />
            <div className="min-w-48 flex-1">
              <p id={`app-${app.id}`} className="font-medium">
                {app.name} <span className="font-normal text-muted">by {app.maker}</span>
              </p>
              {app.description ? <p className="text-sm text-muted">{app.description}</p> : null}
              <Facts of={app} />
            </div>
            {manage ? (
              <Form preventScrollReset>
                {'mine' in asked ? <input type="hidden" name="mine" value="" /> : null}
                <Button type="submit" name="revoke" value={app.id} aria-describedby={`app-${app.id}`}>
                  Revoke
                </Button>
              </Form>
            ) : null}
          </div>
          {manage && asked.revoke === app.id ? <Revocation of={app} /> : null}
        </li>
      ))}
    </ul>
  )
}

function Facts({ of: { scopes, channels, approvals, lastUsedAt } }: { of: ApprovedApp }) {
  const more = approvals.length - ApprovalsShown
  return (
    <dl className="mt-3 space-y-2 text-sm [&_dt]:text-muted">
      <div>
        <dt>It may</dt>
        <dd>{scopes.map((scope) => scopeWords[scope]).join(' · ')}</dd>
      </div>
      <div>
        <dt>On</dt>
        <dd>
          {channels
            ? channels.map(({ name }) => name).join(', ') || 'No channel that is left'
            : 'All channels, those connected later included'}
        </dd>
      </div>
      <div>
        <dt>Approved by</dt>
        {approvals.slice(0, ApprovalsShown).map(({ by, at }) => (
          <dd key={at}>
            {by}, <Instant at={at} />
          </dd>
        ))}
        {more > 0 ? <dd className="text-muted">and {more} more</dd> : null}
      </div>
      <div>
        <dt>Last used</dt>
        <dd>{lastUsedAt ? <Instant at={lastUsedAt} /> : 'Never'}</dd>
      </div>
    </dl>
  )
}

function Revocation({ of: { id, name, tokens } }: { of: ApprovedApp }) {
  const stops = tokens === 1 ? 'Its token is refused' : `Its ${tokens} tokens are refused`
  return (
    <div className="mt-4">
      <Panel
        title={`Revoke ${name}?`}
        lead={`${tokens > 0 ? `${stops} from the next request on: it no longer sees or schedules anything here.` : 'It holds no token now, and a code that it may have dies.'} What it has scheduled stays and goes out. Other organisations that use it are not touched.`}
      >
        <Form method="post" className="flex flex-wrap gap-2">
          <input type="hidden" name="id" value={id} />
          <Submit look="danger">Revoke app</Submit>
          <ButtonLink to="/settings/approved-apps" look="quiet">
            Keep it
          </ButtonLink>
        </Form>
      </Panel>
    </div>
  )
}

function NoApps({ isMine }: { isMine: boolean }) {
  return (
    <Empty icon={<ShieldCheck aria-hidden />} title={isMine ? 'None that you approved' : 'No app is let in'}>
      <p>
        A program of somebody else asks here before it may post for you. Owners and admins approve it, and stop it
        again.
      </p>
    </Empty>
  )
}
