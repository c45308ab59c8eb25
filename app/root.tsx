import { json, type LinksFunction, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import {
  isRouteErrorResponse,
  Links,
  LiveReload,
  Meta,
  Outlet,
  Scripts,
  ScrollRestoration,
  useMatches,
  useRouteError,
} from '@remix-run/react'
import { type ReactNode, useContext, useRef } from 'react'
import { PauseBanner } from './channels/pause-banner.tsx'
import { useAccount } from './shell/account.ts'
import { ErrorPage } from './shell/error-page.tsx'
import { useMay } from './shell/permissions.ts'
import { RequestContext } from './shell/request.tsx'
import { type Handle, Plain, Shell } from './shell/shell.tsx'
import { errorPageStrings, shellStrings } from './shell/strings.tsx'
import stylesheet from './tailwind.css'

export const links: LinksFunction = () => [
  { rel: 'stylesheet', href: stylesheet },
  { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' },
]

export const meta: MetaFunction = ({ error }) => {
  if (!error) return [{ title: shellStrings.pageTitle }]
  const isAbsent = isRouteErrorResponse(error) && error.status === 404
  return [{ title: isAbsent ? errorPageStrings.notFoundPageTitle : errorPageStrings.pageTitle }]
}

export async function loader({ context: { api, member } }: LoaderFunctionArgs) {
  return json({ account: member && (await api.account.show()) })
}

// A page that is painted in part moves when the rest arrives. Browsers that know `expect` wait for the element of this id
// (https://html.spec.whatwg.org/multipage/links.html#link-type-expect).
const WholePage = 'whole-page'
const blockingRender = { blocking: 'render' } // React 18 has no type for it

export function Layout({ children }: { children: ReactNode }) {
  const { nonce, requestId, now } = useContext(RequestContext)
  const isStill = useIsStill()
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
        <meta name="request-id" content={requestId} suppressHydrationWarning />
        <meta name="now" content={now} suppressHydrationWarning />
        <link rel="expect" href={`#${WholePage}`} {...blockingRender} />
        <Meta />
        <Links />
      </head>
      <body>
        {children}
        <span id={WholePage} hidden />
        {isStill ? null : <ScrollRestoration nonce={nonce} />}
        {isStill ? null : <Scripts nonce={nonce} />}
        <LiveReload nonce={nonce} />
      </body>
    </html>
  )
}

// A browser that has loaded scripts goes from page to page with them.
function useIsStill(): boolean {
  const matches = useMatches()
  const isLoaded = useRef(typeof document !== 'undefined')
  return !isLoaded.current && isSaid(matches, 'still')
}

// Whether a route on this page says so of its loader's data.
function isSaid(matches: ReturnType<typeof useMatches>, what: 'still' | 'composes'): boolean {
  return matches.some(({ handle, data }) => data && (handle as Handle | undefined)?.[what]?.(data))
}

export default function App() {
  return (
    <Frame>
      <Outlet />
    </Frame>
  )
}

export function ErrorBoundary() {
  return (
    <Frame>
      <ErrorPage error={useRouteError()} />
    </Frame>
  )
}

function Frame({ children }: { children: ReactNode }) {
  const account = useAccount()
  const { write } = useMay()
  const matches = useMatches()
  const handles = matches.map(({ handle }) => handle as Handle | undefined)
  const isBare = handles.some((handle) => handle?.bare)
  const isWide = handles.some((handle) => handle?.wide)
  const isComposing = write && isSaid(matches, 'composes')
  if (!account || isBare) return <Plain isWide={isWide}>{children}</Plain>
  return (
    <Shell width={isWide ? 'wide' : isComposing ? 'composer' : 'normal'}>
      <PauseBanner />
      {children}
    </Shell>
  )
}
