import type { ReactNode } from 'react'

/** What the row of settings pages says. */
export const settingsStrings = {
  label: 'Settings',
  account: 'Account',
  approvedApps: 'Approved apps',
  activity: 'Activity',
  access: 'Developers › Access',
  apps: 'Developers › Apps',
  webhooks: 'Developers › Webhooks',
  requests: 'Developers › Requests',
}

/** What the page of the account says. */
export const accountStrings = {
  pageTitle: 'Account · Punctual',
  title: 'Account',
  profile: {
    title: 'You',
    name: 'Name',
    email: 'E-mail',
    currentPassword: 'Your password',
    currentPasswordHint: 'Enter your password to change your e-mail address.',
    timeZone: 'Time zone',
    timeZoneHint: 'All times use this time zone.',
    weekStart: 'Week starts on',
    weekStarts: [
      [0, 'Default for my language'],
      [1, 'Monday'],
      [6, 'Saturday'],
      [7, 'Sunday'],
    ] as const,
    clock: 'Clock',
    calendarHint: 'Used in the calendar.',
    clocks: [
      [0, 'Default for my language'],
      [24, '24 hours: 18:00'],
      [12, '12 hours: 6:00 PM'],
    ] as const,
    save: 'Save',
    saved: 'Saved.',
    savedWaiting: 'Saved. To use the new address, open the link in our mail.',
    waiting: (email: string) => `We sent a mail to ${email}. Open the link in it to use this address.`,
    waitingHint: (email: string) =>
      `Until then, your account keeps ${email}. The link works once, for 24 hours. You can ask for 3 mails an hour.`,
    sendLinkAgain: 'Send link again',
    sentAgain: 'Sent. Only the newest link works.',
    cancelChange: 'Cancel change',
    changeCancelled: (email: string) => `Change cancelled. Your account keeps ${email}.`,
  },
  mail: {
    title: 'Mail',
    unverified: (email: string) =>
      `${email} is not verified yet. Open the link in our mail. Until then, we don't mail you when a post needs attention.`,
    sendAgain: 'Send again',
    sentAgain: 'Sent. Check your inbox.',
    notices: 'Mail me when a post needs attention',
    noticesHint: 'Also when a channel needs a reconnect, or when a webhook is switched off.',
    save: 'Save mail settings',
    saved: 'Saved.',
  },
  password: {
    title: 'Password',
    current: 'Current password',
    new: 'New password',
    newHint: 'At least 10 characters, and not easy to guess.',
    change: 'Change password',
    changed: "Password changed. You're signed out everywhere else.",
  },
  sessions: {
    title: 'Sessions',
    lead: 'This signs you out on every device, including this one.',
    signOutEverywhere: 'Sign out everywhere',
  },
}

type AuditSentence = (actor: ReactNode, subject: ReactNode, reason: unknown) => ReactNode

// What happened, by the action of an audit event.
const auditSentences: Record<string, AuditSentence> = {
  'key.created': (actor, key) => (
    <>
      {actor} created the API key {key}
    </>
  ),
  'key.revoked': (actor, key) => (
    <>
      {actor} revoked the API key {key}
    </>
  ),
  'app.created': (actor, app) => (
    <>
      {actor} created the app {app}
    </>
  ),
  'app.updated': (actor, app) => (
    <>
      {actor} changed the app {app}
    </>
  ),
  'app.secret_rotated': (actor, app) => (
    <>
      {actor} rotated the secret of the app {app}
    </>
  ),
  'app.deleted': (actor, app) => (
    <>
      {actor} deleted the app {app}
    </>
  ),
  'consent.approved': (actor, app) => (
    <>
      {actor} approved the app {app}
    </>
  ),
  'consent.denied': (actor, app) => (
    <>
      {actor} denied the app {app}
    </>
  ),
  'consent.revoked': (actor, app) => (
    <>
      {actor} revoked the access of the app {app}
    </>
  ),
  'webhook.created': (actor, url) => (
    <>
      {actor} added the webhook {url}
    </>
  ),
  'webhook.updated': (actor, url) => (
    <>
      {actor} changed the webhook {url}
    </>
  ),
  'webhook.switched_on': (actor, url) => (
    <>
      {actor} switched the webhook {url} on
    </>
  ),
  'webhook.switched_off': (actor, url) => (
    <>
      {actor} switched the webhook {url} off
    </>
  ),
  'webhook.secret_rotated': (actor, url) => (
    <>
      {actor} rotated the secret of the webhook {url}
    </>
  ),
  'webhook.deleted': (actor, url) => (
    <>
      {actor} deleted the webhook {url}
    </>
  ),
  'channel.connected': (actor, channel) => (
    <>
      {actor} connected the channel {channel}
    </>
  ),
  'channel.disconnected': (actor, channel) => (
    <>
      {actor} disconnected the channel {channel}
    </>
  ),
  'channel.paused': (actor, channel) => (
    <>
      {actor} paused the channel {channel}
    </>
  ),
  'channel.resumed': (actor, channel) => (
    <>
      {actor} resumed the channel {channel}
    </>
  ),
  'channel.access_ended': (actor, channel) => (
    <>
      {actor} ended its access to the account of {channel}
    </>
  ),
  'channel.access_left': (actor, channel) => (
    <>
      {actor} could not end its access to the account of {channel}
    </>
  ),
  'post.retried': (actor, channel) => (
    <>
      {actor} retried a post on {channel}
    </>
  ),
  'organisation.suspended': (actor, organisation) => (
    <>
      {actor} suspended {organisation}
    </>
  ),
  'organisation.unsuspended': (actor, organisation) => (
    <>
      {actor} ended the suspension of {organisation}
    </>
  ),
  'token.issued': (actor) => <>{actor} was given access</>,
  'token.revoked': (actor, _app, reason) => (reason ? <>{actor} lost its access</> : <>{actor} gave up its access</>),
}

/** What the page of the audit log says. */
export const activityStrings = {
  pageTitle: 'Activity · Punctual',
  title: 'Activity',
  lead: 'Who changed channels, keys, apps and webhooks, and what operators did. Nobody can edit this list.',
  forManagersOnly: 'Owners and admins of this organisation see its activity here.',
  none: {
    title: 'No activity yet',
    text: 'When someone connects a channel, creates a key, an app or a webhook, or approves an app, you see it here.',
  },

  // The actor with its kind. For a member, and for Punctual itself, the name is enough.
  actor: (kind: string, name: ReactNode): ReactNode => {
    if (kind === 'app') return <>The app {name}</>
    if (kind === 'api_key') return <>The API key {name}</>
    if (kind === 'operator') return <>The operator {name}</>
    return name
  },
  event: (action: string, actor: ReactNode, subject: ReactNode, reason: unknown): ReactNode =>
    auditSentences[action]?.(actor, subject, reason) ?? (
      <>
        {actor} {action} {subject}
      </>
    ),
  withOutcome: (event: ReactNode, outcome: string) => (
    <>
      {event} ({outcome})
    </>
  ),
  fromAddress: (at: ReactNode, address: string) => (
    <>
      {at} from {address}
    </>
  ),

  detail: {
    allChannels: 'all channels',
    channels: (count: number) => (count === 1 ? '1 channel' : `${count} channels`),
    formerName: (name: string) => `former name ${name}`,
    formerUrl: (url: string) => `former URL ${url}`,
    redirectUrls: (urls: string[]) => `redirect URLs ${urls.join(', ')}`,
    formerRedirectUrls: (urls: string[]) => `former redirect URLs ${urls.join(', ')}`,
    picture: (change: string) => `picture ${change}`,
    overlap: 'the old secret works for 24 more hours',
    cancelled: (posts: number) =>
      posts === 1 ? '1 unsent post was cancelled' : `${posts} unsent posts were cancelled`,
    held: (posts: number) => (posts === 1 ? '1 unsent post was held' : `${posts} unsent posts were held`),
    // Why Punctual did it.
    reason: (reason: string) => {
      if (reason === 'failing') return 'it had failed for three days'
      if (reason === 'gone') return 'it answered 410 Gone'
      return reason
    },
  },
}
