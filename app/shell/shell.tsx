import { Form, Link, useLocation, useNavigation } from '@remix-run/react'
import {
  CalendarDays,
  Check,
  ChevronsUpDown,
  Gauge,
  ListOrdered,
  LogOut,
  Megaphone,
  Send,
  Settings,
} from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { Warning } from '../ui/warning.tsx'
import { useAccount } from './account.ts'
import { Logo } from './logo.tsx'
import { useSignOut } from './sign-out.ts'
import { shellStrings } from './strings.tsx'

/**
 * A route can ask for a page without navigation (`bare`), and for a wide one. `composes` says of the loader's data that who
 * may write gets the composer: a width that only its form decides would move the page when the form arrives. `still` says of
 * the loader's data that the page needs no scripts: its form is sent as forms are, and what it shows doesn't change.
 */
export type Handle = {
  bare?: boolean
  wide?: boolean
  composes?: (data: unknown) => boolean
  still?: (data: unknown) => boolean
}

const navigation = [
  { to: '/', name: shellStrings.navigation.posts, icon: Send, under: /^\/($|posts)/ },
  { to: '/calendar', name: shellStrings.navigation.calendar, icon: CalendarDays, under: /^\/calendar/ },
  { to: '/queues', name: shellStrings.navigation.queues, icon: ListOrdered, under: /^\/queues/ },
  { to: '/channels', name: shellStrings.navigation.channels, icon: Megaphone, under: /^\/channels/ },
  { to: '/settings/account', name: shellStrings.navigation.settings, icon: Settings, under: /^\/settings/ },
]
const operations = {
  to: '/operations',
  name: shellStrings.navigation.operations,
  icon: Gauge,
  under: /^\/operations/,
}

const widths = { normal: 'max-w-3xl', composer: 'max-w-5xl', wide: 'max-w-7xl' }

/** The frame of every page of a signed-in person: a bar at the side, or above and below on a small screen. */
export function Shell({ children, width }: { children: ReactNode; width: 'normal' | 'composer' | 'wide' }) {
  const main = useFocusOnNewPage()
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[15rem_minmax(0,1fr)]">
      <SkipLink />
      <Progress />
      <header className="sticky top-0 z-20 flex items-center gap-2 border-b border-line bg-canvas px-3 py-2.5 md:h-dvh md:flex-col md:items-stretch md:gap-6 md:border-b-0 md:border-r md:bg-panel md:px-3 md:py-4">
        <Organisation />
        <Navigation />
        <SignOut />
      </header>
      <main
        id="main"
        ref={main}
        tabIndex={-1}
        className={`mx-auto w-full px-4 pb-28 pt-6 md:px-8 md:pb-16 md:pt-10 ${widths[width]}`}
      >
        <Suspended />
        {children}
      </main>
    </div>
  )
}

function Suspended() {
  if (!useAccount()?.isSuspended) return null
  return <Warning>{shellStrings.suspended}</Warning>
}

/** The frame of pages without navigation. */
export function Plain({ children, isWide = false }: { children: ReactNode; isWide?: boolean }) {
  const width = isWide ? 'max-w-5xl py-6 sm:py-10' : 'max-w-2xl py-10 sm:py-16'
  return (
    <main id="main" tabIndex={-1} className={`mx-auto w-full px-4 ${width}`}>
      <Progress />
      {children}
    </main>
  )
}

function SkipLink() {
  return (
    <a
      href="#main"
      className="sr-only z-40 rounded-lg bg-accent px-4 py-2 text-white focus:not-sr-only focus:fixed focus:left-3 focus:top-3"
    >
      {shellStrings.skipToContent}
    </a>
  )
}

function Progress() {
  const isBusy = useNavigation().state !== 'idle'
  return (
    <div aria-hidden className="pointer-events-none fixed inset-x-0 top-0 z-30 h-0.5">
      <div
        className={`h-full origin-left bg-accent motion-safe:transition-transform ease-out ${isBusy ? 'scale-x-75 delay-150 duration-1000' : 'scale-x-0 duration-0'}`}
      />
    </div>
  )
}

const organisationClass = 'flex min-w-0 items-center gap-2.5 rounded-lg px-2 py-1.5 text-left font-semibold'

function Organisation() {
  const account = useAccount()
  const current = account?.organisations.find(({ id }) => id === account.organisationId)
  const name = current?.name ?? shellStrings.organisation.none
  if (account && account.organisations.length > 1) return <OrganisationChoice account={account} name={name} />
  return (
    <Link to="/" className={organisationClass} aria-label={shellStrings.organisation.home(name)}>
      <Logo className="size-7 shrink-0" />
      <span className="truncate">{name}</span>
    </Link>
  )
}

type Account = NonNullable<ReturnType<typeof useAccount>>

function OrganisationChoice({ account, name }: { account: Account; name: string }) {
  return (
    <>
      <button
        type="button"
        {...{ popovertarget: 'organisations' }}
        className={`${organisationClass} hover:bg-sunken`}
        aria-label={shellStrings.organisation.current(name)}
      >
        <Logo className="size-7 shrink-0" />
        <span className="truncate">{name}</span>
        <ChevronsUpDown aria-hidden className="ml-auto size-4 shrink-0 text-muted" />
      </button>
      <div
        id="organisations"
        {...{ popover: 'auto' }}
        className="inset-auto left-3 top-14 m-0 w-60 rounded-xl border border-line bg-panel p-1.5 text-ink shadow-xl"
      >
        <form method="post" action="/organisation" aria-label={shellStrings.organisation.label}>
          {account.organisations.map((organisation) => (
            <OrganisationButton
              key={organisation.id}
              organisation={organisation}
              isCurrent={organisation.id === account.organisationId}
            />
          ))}
        </form>
      </div>
    </>
  )
}

type OrganisationButtonProps = { organisation: Account['organisations'][number]; isCurrent: boolean }

function OrganisationButton({ organisation, isCurrent }: OrganisationButtonProps) {
  return (
    <button
      name="id"
      value={organisation.id}
      type="submit"
      aria-current={isCurrent || undefined}
      className="flex w-full items-center gap-2 rounded-lg px-3 py-2 text-left text-sm hover:bg-sunken"
    >
      <span className="min-w-0 flex-1 truncate">{organisation.name}</span>
      {isCurrent ? <Check aria-hidden className="size-4 text-accent-ink" /> : null}
    </button>
  )
}

function Navigation() {
  const { pathname } = useLocation()
  const isOperator = useAccount()?.isOperator
  return (
    <nav
      aria-label={shellStrings.navigation.label}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-panel pb-[env(safe-area-inset-bottom)] md:static md:flex-1 md:border-0 md:p-0"
    >
      <ul
        className={`grid min-h-[3.375rem] md:flex md:min-h-0 md:flex-col md:gap-1 ${isOperator ? 'grid-cols-6' : 'grid-cols-5'}`}
      >
        {[...navigation, ...(isOperator ? [operations] : [])].map(({ to, name, icon: Icon, under }) => (
          <li key={to}>
            <Link
              to={to}
              prefetch="intent"
              aria-current={pathname === to ? 'page' : under.test(pathname) ? 'true' : undefined}
              className="flex flex-col items-center gap-0.5 px-1 py-2 text-xs font-medium text-muted hover:text-ink aria-[current]:text-accent-ink md:flex-row md:gap-3 md:rounded-lg md:px-3 md:text-sm md:hover:bg-sunken md:aria-[current]:bg-accent/10"
            >
              <Icon aria-hidden className="size-5 md:size-4" />
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function SignOut() {
  const account = useAccount()
  return (
    <Form
      method="post"
      action="/logout"
      onSubmit={useSignOut()}
      className="ml-auto flex items-center gap-2 md:ml-0 md:border-t md:border-line md:pt-3"
    >
      <span className="hidden min-w-0 flex-1 px-2 md:block">
        <span className="block truncate text-sm font-medium">{account?.name}</span>
        <span className="block truncate text-xs text-muted">{account?.email}</span>
      </span>
      <button
        type="submit"
        aria-label={shellStrings.signOut}
        title={shellStrings.signOut}
        className="grid size-9 shrink-0 place-items-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
      >
        <LogOut aria-hidden className="size-4" />
      </button>
    </Form>
  )
}

/** Focus the heading of a new page that came without a new document, so that screen readers read on there. */
function useFocusOnNewPage() {
  const main = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const before = useRef(pathname)
  useEffect(() => {
    if (before.current === pathname) return
    before.current = pathname
    main.current?.querySelector('h1')?.focus({ preventScroll: true })
  }, [pathname])
  return main
}
