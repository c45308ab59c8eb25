import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { NavLink, Outlet, useLoaderData } from '@remix-run/react'
import { shown, signedIn } from '../api.ts'
import { PageHead } from '../ui/page.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: `${data ? `${data.app.name} · ` : ''}Developers › Apps · Punctual` },
]

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const app = await shown(api.apps.get({ id: String(args.params.id) }))
  const { appUrl, baseUrl } = args.context
  return json({ app, appUrl, baseUrl })
}

export default function AppPages() {
  const { app } = useLoaderData<typeof loader>()
  const path = `/settings/developers/apps/${app.id}`
  return (
    <>
      <PageHead title={`Developers › Apps › ${app.name}`} />
      <nav aria-label="App" className="mb-6">
        <ul className="flex gap-1">
          <Tab to={path} name="The app" />
          <Tab to={`${path}/try`} name="Try it" />
        </ul>
      </nav>
      <Outlet />
    </>
  )
}

function Tab({ to, name }: { to: string; name: string }) {
  return (
    <li>
      <NavLink
        to={to}
        end
        prefetch="intent"
        className="block whitespace-nowrap rounded-full px-3 py-1 text-sm font-medium text-muted hover:bg-sunken hover:text-ink aria-[current]:bg-ink aria-[current]:text-canvas"
      >
        {name}
      </NavLink>
    </li>
  )
}
