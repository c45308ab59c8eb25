import { Outlet } from '@remix-run/react'
import { settingsStrings } from '../settings/strings.tsx'
import { Sections } from '../ui/sections.tsx'

const pages = [
  { to: '/settings/account', name: settingsStrings.account },
  { to: '/settings/approved-apps', name: settingsStrings.approvedApps },
  { to: '/settings/activity', name: settingsStrings.activity },
  { to: '/settings/developers/access', name: settingsStrings.access },
  { to: '/settings/developers/apps', name: settingsStrings.apps },
  { to: '/settings/developers/webhooks', name: settingsStrings.webhooks },
  { to: '/settings/developers/requests', name: settingsStrings.requests },
]

export default function Settings() {
  return (
    <>
      <Sections label={settingsStrings.label} pages={pages} />
      <Outlet />
    </>
  )
}
