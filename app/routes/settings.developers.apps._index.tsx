import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, Link, useActionData, useLoaderData } from '@remix-run/react'
import { AppWindow, ChevronRight } from 'lucide-react'
import type { Api } from '../../server/router.ts'
import { answer, problemOf, signedIn } from '../api.ts'
import { AppForm } from '../developers/apps/app-form.tsx'
import { AppMark } from '../developers/apps/app-mark.tsx'
import { withUpload } from '../developers/apps/app-picture.ts'
import { NewApp } from '../developers/apps/registration.ts'
import { appStrings } from '../developers/apps/strings.tsx'
import { mayManage } from '../shell/permissions.ts'
import { Copyable } from '../ui/copy.tsx'
import { Button, ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead, Panel } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: appStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const mayMake = mayManage(member.role)
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  return json({ mayMake, asked, apps: mayMake ? await api.apps.list() : [] })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  return withUpload(args.context, 'picture', (form, path) =>
    answer(form, NewApp, async ({ picture: _, ...wanted }) => {
      const { id, name, clientId, clientSecret } = await api.apps.create(wanted)
      const problem = path ? await pictureProblem(api, id, path) : null
      return json({ made: { id, name, clientId, clientSecret, problem } })
    }),
  )
}

// The app exists by now and its secret is shown only here, so a bad picture must not fail the request.
async function pictureProblem(api: Api, id: string, path: string): Promise<string | null> {
  try {
    await api.apps.setPicture({ id, path })
    return null
  } catch (error) {
    return problemOf(error).detail
  }
}

type Made = { id: string; name: string; clientId: string; clientSecret: string; problem: string | null }

export default function Apps() {
  const { mayMake, asked, apps } = useLoaderData<typeof loader>()
  const { made } = (useActionData() ?? {}) as { made?: Made }
  if (!mayMake) return <PageHead title={appStrings.title} lead={appStrings.forManagersOnly} />
  return (
    <>
      <PageHead title={appStrings.title} lead={appStrings.lead}>
        <Form preventScrollReset>
          <Button type="submit" name="create" value="" look="primary">
            {appStrings.create}
          </Button>
        </Form>
      </PageHead>
      {'deleted' in asked ? <Notice>{appStrings.deleted}</Notice> : null}
      <div className="space-y-6">
        {made ? <NewAppShown made={made} /> : null}
        {'create' in asked && !made ? <NewAppForm /> : null}
        {apps.length > 0 ? <List /> : <NoApps />}
      </div>
    </>
  )
}

function NewAppForm() {
  const { newTitle, create, close } = appStrings.form
  return (
    <Panel title={newTitle}>
      <AppForm intent="create">
        <Submit look="primary">{create}</Submit>
        <ButtonLink to="/settings/developers/apps" look="quiet">
          {close}
        </ButtonLink>
      </AppForm>
    </Panel>
  )
}

function NewAppShown({ made: { id, name, clientId, clientSecret, problem } }: { made: Made }) {
  const strings = appStrings.made
  return (
    <Panel title={strings.title(name)} lead={strings.lead}>
      <div className="space-y-5">
        <Copyable label={strings.clientId} copyName={strings.copyClientId} text={clientId} />
        <Copyable label={strings.clientSecret} copyName={strings.copyClientSecret} text={clientSecret} />
        {problem ? <p className="text-sm text-bad">{strings.pictureProblem(problem)}</p> : null}
        <ButtonLink to={`/settings/developers/apps/${id}/try`}>{strings.howToUse}</ButtonLink>
      </div>
    </Panel>
  )
}

function List() {
  const { apps } = useLoaderData<typeof loader>()
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-panel shadow-sm">
      {apps.map((app) => (
        <li key={app.id} className="relative flex items-center gap-4 px-4 py-4 hover:bg-sunken/60 sm:px-5">
          <AppMark app={app} />
          <div className="min-w-0 flex-1">
            <Link
              to={`/settings/developers/apps/${app.id}`}
              prefetch="intent"
              className="block truncate font-medium after:absolute after:inset-0"
            >
              {app.name}
            </Link>
            <p className="truncate font-mono text-sm text-muted">{app.clientId}</p>
          </div>
          <ChevronRight aria-hidden className="size-4 shrink-0 text-muted" />
        </li>
      ))}
    </ul>
  )
}

function NoApps() {
  return (
    <Empty icon={<AppWindow aria-hidden />} title={appStrings.none.title}>
      <p>{appStrings.none.text}</p>
    </Empty>
  )
}
