import type { ReactNode } from 'react'

/** What the page of API keys says. */
export const keyStrings = {
  pageTitle: 'Developers › Access · Punctual',
  title: 'Developers › Access',
  forManagersOnly: 'Owners and admins of this organisation make API keys here.',
  lead: (reference: ReactNode) => <>API keys act for this organisation. {reference}</>,
  reference: 'API reference',
  generateKey: 'Generate key',
  revoked: 'Key revoked. It no longer works.',

  form: {
    title: 'New key',
    lead: 'For your own app, or an app you trust, that posts for this organisation.',
    name: 'Name',
    nameHint: 'What will use it, for example: Website.',
    scopes: 'Scopes',
    expires: 'Expires',
    expiresHint: (zone: string) => `At the end of that day in ${zone}. Leave it empty for a key that never expires.`,
    generate: 'Generate',
    close: 'Close',
  },

  made: {
    title: 'Your key',
    lead: "Copy it now. We don't keep it, so you can't see it again.",
    copy: 'Copy API key',
    tryIt: 'Try it in a terminal',
  },

  list: {
    lastUsed: (when: ReactNode) => <>Last used {when}</>,
    neverUsed: 'Never used',
    neverExpires: 'does not expire',
    expired: (day: ReactNode) => <>expired {day}</>,
    expires: (when: ReactNode) => <>expires {when}</>,
    requests: 'Requests',
    revoke: 'Revoke',
  },

  revocation: {
    title: (name: string) => `Revoke ${name}?`,
    lead: "All further requests with this key fail. You can't undo this.",
    revoke: 'Revoke key',
    keep: 'Keep it',
  },

  none: {
    title: 'No API keys yet',
    text: 'Use a key to schedule posts through the API: from a website, a script or an automation.',
  },
}

/** What the page of API requests says. */
export const requestStrings = {
  pageTitle: 'Developers › Requests · Punctual',
  title: 'Developers › Requests',
  forManagersOnly: 'Owners and admins of this organisation see its API requests here.',
  lead: (api: ReactNode) => (
    <>Requests that keys and apps sent to the {api} in the last 7 days, newest first. We don't keep their bodies.</>
  ),
  api: 'API',

  filters: {
    summary: (count: number) => (count === 0 ? 'Filter' : `Filter (${count} set)`),
    credential: 'Key or app',
    keys: 'API keys',
    apps: 'Apps',
    removedCredential: 'Removed key or app',
    method: 'Method',
    status: 'Status',
    statusExample: '404, or 4xx',
    problem: 'Error code',
    path: 'Path begins with',
    requestId: 'Request id',
    from: 'From',
    to: 'To',
    filter: 'Filter',
    clear: 'Clear',
    zone: (zone: string) => `Dates are in the time zone ${zone}.`,
  },

  request: {
    duration: (milliseconds: number) => `${milliseconds} ms`,
    callerGone: 'disconnected before the response',
    copyId: 'Copy request id',
  },

  noMatch: {
    title: 'No matching requests',
    text: 'No request of the last 7 days matches.',
  },
  none: {
    title: 'No requests yet',
    text: 'Each request with a key or token of this organisation appears here about a second later, with its error if it fails.',
    generateKey: 'Generate a key',
  },
}
