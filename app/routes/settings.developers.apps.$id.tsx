import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Outlet, useLoaderData, useLocation } from '@remix-run/react'
import { shown, signedIn } from '../api.ts'
import { appStrings } from '../developers/apps/strings.tsx'
import { Tab } from '../ui/lists/tab.tsx'
import { PageHead } from '../ui/page.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: data ? appStrings.appPageTitle(data.app.name) : appStrings.pageTitle },
]

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const app = await shown(api.apps.get({ id: String(args.params.id) }))
  const { appUrl, baseUrl } = args.context
  return json({ app, appUrl, baseUrl })
}

export default function AppPages() {
  const { app } = useLoaderData<typeof loader>()
  const isTry = useLocation().pathname.replace(/\/$/, '').endsWith('/try')
  const path = `/settings/developers/apps/${app.id}`
  return (
    <>
      <PageHead title={appStrings.appTitle(app.name)} />
      <nav aria-label={appStrings.tabs.label} className="mb-6">
        <ul className="flex gap-1">
          <Tab to={path} name={appStrings.tabs.app} isCurrent={!isTry} />
          <Tab to={`${path}/try`} name={appStrings.tabs.tryIt} isCurrent={isTry} />
        </ul>
      </nav>
      <Outlet />
    </>
  )
}
