import type { ReactNode } from 'react'

/** What the pages of registered apps say. */
export const appStrings = {
  pageTitle: 'Developers › Apps · Punctual',
  title: 'Developers › Apps',
  forManagersOnly: 'Owners and admins of this organisation register apps here.',
  lead: "Apps act for other people's organisations. Each organisation approves an app with OAuth.",
  create: 'Create app',
  deleted: 'App deleted. Its tokens no longer work.',
  none: {
    title: 'No apps yet',
    text: 'Register an app if your product posts for people outside this organisation. It never sees their keys or passwords. To post for this organisation, an API key is simpler.',
  },

  made: {
    title: (name: string) => `${name} is registered`,
    lead: "Copy the secret now. We don't keep it, so you can't see it again.",
    clientId: 'Client ID',
    copyClientId: 'Copy client ID',
    clientSecret: 'Client secret',
    copyClientSecret: 'Copy client secret',
    pictureProblem: (problem: string) => `We couldn't use the picture. ${problem}`,
    howToUse: 'How to use them',
  },

  form: {
    newTitle: 'New app',
    name: 'Name',
    nameHint: 'People see it when the app asks for access.',
    description: 'Description',
    descriptionHint: 'In one sentence: what the app does for them.',
    picture: 'Picture',
    removePicture: 'Remove picture',
    pictureHint: 'Square is best. JPEG, PNG, GIF, WebP or AVIF of up to 20 MB.',
    redirectUrl: 'Redirect URL',
    redirectUrlHint:
      'People return here. Enter one URL a line; requests must match it exactly. Use https, or http to 127.0.0.1, [::1] or localhost. A request that names no URL uses the first.',
    create: 'Create',
    close: 'Close',
    save: 'Save',
    saved: 'Saved.',
    pictureRemoved: 'Picture removed.',
  },

  appPageTitle: (name: string) => `${name} · Developers › Apps · Punctual`,
  appTitle: (name: string) => `Developers › Apps › ${name}`,
  tabs: {
    label: 'App',
    app: 'The app',
    tryIt: 'Try it',
  },
  profile: 'What people see',

  credentials: {
    title: 'Client ID and secret',
    clientId: 'Client ID',
    copyClientId: 'Copy client ID',
    clientSecret: 'Client secret',
    secret: (ending: ReactNode, made: ReactNode) => (
      <>
        {ending}, made {made}
      </>
    ),
    endingSecret: (ending: ReactNode, made: ReactNode, until: ReactNode) => (
      <>
        {ending}, made {made}, valid until {until}
      </>
    ),
    rotation: 'You see the new secret once. Existing tokens keep working.',
    overlap: 'The old secret works for another 24 hours',
    noOverlap: 'The old secret stops working at once',
    overlapMissing: 'Choose when the old secret stops working.',
    rotate: 'Rotate secret',
    rotatedTitle: 'New client secret',
    rotatedLead: "Copy it now. We don't keep it, so you can't see it again.",
    copyRotated: 'Copy new client secret',
  },

  deletion: {
    title: 'Delete app',
    lead: 'Its tokens stop working in every organisation, and it disappears from their Approved apps. Posts that it scheduled still go out.',
    confirm: (name: string) => `Type ${name} to delete it`,
    delete: 'Delete app',
  },
}

/** What the page says where a developer tries an app. */
export const tryStrings = {
  sendTitle: '1. Send people here',
  sendLead: 'They sign in, choose what the app can use, and return to your redirect URL with a code and your state.',
  link: 'Authorize link',
  copyLink: 'Copy authorize link',
  openLink: 'Open it',
  stateNote: (state: ReactNode, codeChallenge: ReactNode) => (
    <>
      Make a new {state} for each request and compare it when the person returns. With {codeChallenge} (S256), nobody
      else can use the code.
    </>
  ),

  exchangeTitle: '2. Exchange the code for a token',
  exchangeLead: 'Do this on your server, within 10 minutes. A code works once.',
  terminal: 'In a terminal',
  copyTerminal: 'Copy token request for a terminal',
  script: 'In JavaScript',
  copyScript: 'Copy token request in JavaScript',

  useTitle: '3. Use the token',
  useLead: 'It acts for the one organisation that approved the app, until somebody revokes it.',
  use: 'Show its organisation and scopes',
  copyUse: 'Copy call with the token',

  attempts: {
    title: 'Last attempts',
    lead: 'The last 50 authorisations, the last 50 consents and the last 50 exchanges, and calls with a wrong secret. We keep no secrets or codes here.',
    none: 'No attempts yet.',
    result: (step: ReactNode, outcome: string) => (
      <>
        {step}: {outcome}
      </>
    ),
    atFrom: (at: ReactNode, address: string) => (
      <>
        {at} from {address}
      </>
    ),
    steps: {
      authorize: 'Authorize link',
      consent: 'Consent',
      token: 'Code exchange',
      revoke: 'Token revocation',
      introspect: 'Token introspection',
    },
    successes: {
      consent: 'Approved',
      token: 'Token issued',
    },
    success: 'Accepted',
    failures: {
      redirect_uri: 'Refused, without a redirect',
      access_denied: 'Denied',
    },
    failure: (code: string) => `Refused (${code})`,
  },
}

/** What the consent page says. */
export const consentStrings = {
  pageTitle: (app: string) => `${app} wants access · Punctual`,
  heading: (app: ReactNode, organisation: ReactNode) => (
    <>
      {app} wants to use {organisation}
    </>
  ),
  noOrganisation: 'Punctual',
  maker: (maker: ReactNode) => <>Made by {maker}, not by Punctual</>,

  scopes: 'This app can',
  organisation: 'Organisation',
  showChannels: 'Show its channels',
  channels: 'Channels',
  all: 'All channels',
  allHint: 'Including channels that you connect later.',
  some: 'Only these',
  someHint: "It can't see your other channels.",
  channelsMissing: 'Choose which channels this app can use.',
  forManagersOnly: 'Only owners and admins of an organisation can approve an app. Ask one of yours to open this page.',

  goesTo: (address: ReactNode) => <>You'll return to {address}</>,
  deny: 'Deny',
  goBack: 'Go back without approving',
  approve: 'Approve',
  signedInAs: (person: string, change: ReactNode) => (
    <>
      Signed in as {person}. {change}
    </>
  ),
  signInAsOther: 'Sign in as somebody else',
  revocable: 'Owners and admins can revoke the app at any time under Settings › Approved apps.',

  tooLong: 'This request is too long to keep while you sign in. Sign in first, then start again from the app.',
  expired: {
    title: 'This page has expired',
    approvedApps: 'See approved apps',
  },
  refused: {
    pageTitle: 'This request is refused · Punctual',
    title: 'This request is refused',
    text: "The app's link has a mistake. Only the app's maker can fix it. Tell them:",
    foot: 'We sent the app nothing and changed nothing here.',
  },
}

/** What the page of approved apps says. */
export const approvedAppStrings = {
  pageTitle: 'Approved apps · Punctual',
  title: 'Approved apps',
  lead: "Other people's apps that can act for this organisation.",
  revoked: 'App revoked. It can no longer use this organisation.',
  filter: 'Filter',
  all: 'All',
  mine: 'Approved by me',
  none: 'No approved apps',
  noneOfMine: 'No apps that you approved',
  noneText: 'An app asks here before it can post for you. Owners and admins approve and revoke apps.',

  app: {
    maker: (name: string) => `by ${name}`,
    scopes: 'This app can',
    channels: 'Channels',
    noChannels: 'No channels left',
    allChannels: 'All channels, including channels connected later',
    approvedBy: 'Approved by',
    approval: (by: string, at: ReactNode) => (
      <>
        {by}, {at}
      </>
    ),
    moreApprovals: (count: number) => `and ${count} more`,
    lastUsed: 'Last used',
    never: 'Never',
    revoke: 'Revoke',
  },

  revocation: {
    title: (name: string) => `Revoke ${name}?`,
    lead: (tokens: number) => `${tokenSentences(tokens)} ${RevocationKeeps}`,
    revoke: 'Revoke app',
    keep: 'Keep it',
  },
}

const RevocationKeeps = 'Posts that it scheduled still go out. Other organisations that use it are not affected.'

function tokenSentences(tokens: number): string {
  if (tokens === 0) return 'This app has no active token. An unused code stops working.'
  const stop = tokens === 1 ? 'Its token stops working' : `Its ${tokens} tokens stop working`
  return `${stop} from the next request. The app can no longer see or schedule anything here.`
}
