import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { ShieldCheck } from 'lucide-react'
import { ById } from '../../server/forms.ts'
import type { ApprovedApp } from '../../server/oauth/approved-apps.ts'
import { scopeWords } from '../../server/words.ts'
import { answer, formOf, signedIn } from '../api.ts'
import { AppMark } from '../developers/apps/app-mark.tsx'
import { approvedAppStrings } from '../developers/apps/strings.tsx'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Button } from '../ui/forms/button.tsx'
import { Tab } from '../ui/lists/tab.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: approvedAppStrings.pageTitle }]

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
      <PageHead title={approvedAppStrings.title} lead={approvedAppStrings.lead} />
      {'revoked' in asked ? <Notice>{approvedAppStrings.revoked}</Notice> : null}
      <nav aria-label={approvedAppStrings.filter} className="mb-6">
        <ul className="flex gap-1">
          <Tab to="/settings/approved-apps" name={approvedAppStrings.all} isCurrent={!isMine} />
          <Tab to="/settings/approved-apps?mine" name={approvedAppStrings.mine} isCurrent={isMine} />
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
                {app.name} <span className="font-normal text-muted">{approvedAppStrings.app.maker(app.maker)}</span>
              </p>
              {app.description ? <p className="text-sm text-muted">{app.description}</p> : null}
              <Facts of={app} />
            </div>
            {manage ? (
              <Form preventScrollReset>
                {'mine' in asked ? <input type="hidden" name="mine" value="" /> : null}
                <Button type="submit" name="revoke" value={app.id} aria-describedby={`app-${app.id}`}>
                  {approvedAppStrings.app.revoke}
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
  const strings = approvedAppStrings.app
  const more = approvals.length - ApprovalsShown
  return (
    <dl className="mt-3 space-y-2 text-sm [&_dt]:text-muted">
      <div>
        <dt>{strings.scopes}</dt>
        <dd>{scopes.map((scope) => scopeWords[scope]).join(' · ')}</dd>
      </div>
      <div>
        <dt>{strings.channels}</dt>
        <dd>{channels ? channels.map(({ name }) => name).join(', ') || strings.noChannels : strings.allChannels}</dd>
      </div>
      <div>
        <dt>{strings.approvedBy}</dt>
        {approvals.slice(0, ApprovalsShown).map(({ by, at }) => (
          <dd key={at}>{strings.approval(by, <Instant at={at} />)}</dd>
        ))}
        {more > 0 ? <dd className="text-muted">{strings.moreApprovals(more)}</dd> : null}
      </div>
      <div>
        <dt>{strings.lastUsed}</dt>
        <dd>{lastUsedAt ? <Instant at={lastUsedAt} /> : strings.never}</dd>
      </div>
    </dl>
  )
}

function Revocation({ of: { id, name, tokens } }: { of: ApprovedApp }) {
  const strings = approvedAppStrings.revocation
  return (
    <PostForm className="mt-4">
      <input type="hidden" name="id" value={id} />
      <Confirm
        title={strings.title(name)}
        lead={strings.lead(tokens)}
        does={strings.revoke}
        keeps={strings.keep}
        backTo="/settings/approved-apps"
      />
    </PostForm>
  )
}

function NoApps({ isMine }: { isMine: boolean }) {
  const { none, noneOfMine, noneText } = approvedAppStrings
  return (
    <Empty icon={<ShieldCheck aria-hidden />} title={isMine ? noneOfMine : none}>
      <p>{noneText}</p>
    </Empty>
  )
}
