import { Outlet } from '@remix-run/react'
import { Sections } from '../ui/sections.tsx'

const pages = [
  { to: '/settings/account', name: 'Account' },
  { to: '/settings/approved-apps', name: 'Approved apps' },
  { to: '/settings/activity', name: 'Activity' },
  { to: '/settings/developers/access', name: 'Developers › Access' },
  { to: '/settings/developers/apps', name: 'Developers › Apps' },
  { to: '/settings/developers/webhooks', name: 'Developers › Webhooks' },
  { to: '/settings/developers/requests', name: 'Developers › Requests' },
]

export default function Settings() {
  return (
    <>
      <Sections label="Settings" pages={pages} />
      <Outlet />
    </>
  )
}
