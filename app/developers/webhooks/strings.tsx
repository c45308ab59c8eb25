import type { ReactNode } from 'react'

/** What the pages of webhooks say. A webhook is called an endpoint where somebody adds or changes one. */
export const webhookStrings = {
  pageTitle: 'Developers › Webhooks · Punctual',
  title: 'Developers › Webhooks',
  forManagersOnly: 'Owners and admins of this organisation add webhooks here.',
  lead: (guide: ReactNode) => <>Send events to your server. {guide}</>,
  guide: 'How webhooks work',
  add: 'Add endpoint',
  deleted: 'Endpoint deleted. We send it nothing more.',
  events: (count: number) => `${count} ${count === 1 ? 'event' : 'events'}`,
  none: {
    title: 'No endpoints yet',
    text: 'An endpoint tells your app when a post is published or fails, so your app needs no polling.',
  },

  endpointPageTitle: (host: string) => `${host} · Developers › Webhooks · Punctual`,
  endpointTitle: (host: string) => `Developers › Webhooks › ${host}`,
  saved: 'Saved.',
  switchedOn: 'Switched on. It receives events from now on.',
  testSent: 'A test event is on its way.',
  resent: "We're sending it again.",

  form: {
    addTitle: 'New endpoint',
    changeTitle: 'Change endpoint',
    url: 'URL',
    urlHint: 'It must be reachable from the internet and accept a POST with a JSON body.',
    description: 'Description',
    descriptionHint: 'For you: what receives the events.',
    events: 'Events',
    posts: 'Posts',
    channels: 'Channels',
    add: 'Add',
    save: 'Save',
    close: 'Close',
  },

  secret: {
    addedTitle: 'Endpoint added',
    rotatedTitle: 'New signing secret',
    lead: "Copy the signing secret now. You can't see it again.",
    label: 'Signing secret',
    copy: 'Copy signing secret',
    use: (verify: ReactNode) => <>We sign each call with it. {verify}</>,
    verify: 'How to verify a call',
    overlap: 'For 24 hours, we also sign each call with the old secret.',
    tryIt: 'Try it',
  },

  state: {
    active: 'Active',
    failing: 'Failing',
    off: 'Off',
    switchedOff: 'Switched off',
  },

  // `name` is the sentence's subject: the URL as a link, or one of these two.
  thisEndpoint: 'This endpoint',
  it: 'It',
  trouble: {
    offAfterFailing: (name: ReactNode, when: ReactNode) => (
      <>
        {name} was switched off on {when}, after three days of failures.
      </>
    ),
    offForGone: (name: ReactNode, when: ReactNode) => (
      <>
        {name} was switched off on {when}, because it answered 410 Gone.
      </>
    ),
    offByHand: (name: ReactNode, when: ReactNode) => (
      <>
        {name} was switched off on {when}, by hand.
      </>
    ),
    failing: (name: ReactNode, when: ReactNode) => (
      <>
        {name} has been failing since {when}.
      </>
    ),
  },
  cure: {
    offByHand: 'We send it nothing until you switch it on.',
    switchedOff: 'Fix the receiver, then switch it on. You can resend the events that were waiting from its log.',
    failing:
      'Check its responses in the log and fix it. We then send waiting events automatically. After three days of failures, we switch it off.',
  },

  card: {
    events: 'Events',
    addedBy: 'Added by',
    byMember: (name: string, when: ReactNode) => (
      <>
        {name}, {when}
      </>
    ),
    byKey: (name: string, when: ReactNode) => (
      <>
        the key {name}, {when}
      </>
    ),
    byApp: (name: string, when: ReactNode) => (
      <>
        the app {name}, {when}. It is deleted when the app's access ends.
      </>
    ),
    secret: 'Secret',
    rotated: (until: ReactNode) => <>Rotated. We also sign calls with the old secret until {until}</>,
    sendTest: 'Send test event',
    switchOn: 'Switch on',
    change: 'Change',
    rotate: 'Rotate secret',
    switchOff: 'Switch off',
    delete: 'Delete',
  },

  confirm: {
    rotateTitle: 'Rotate the secret?',
    rotateLead:
      'You see the new secret once. For 24 hours we sign each call with both secrets, so your server can switch without missing a call.',
    rotate: 'Make a new secret',
    offTitle: 'Switch off this endpoint?',
    offLead:
      'We stop sending events to it and keep none for it. Events that are waiting now are not sent. You can switch it on again.',
    off: 'Switch off now',
    deleteTitle: 'Delete this endpoint?',
    deleteLead: "This also deletes its log and its secret. Waiting events are not sent. You can't undo this.",
    delete: 'Delete endpoint',
    keep: 'Keep it as it is',
  },

  log: {
    title: 'Deliveries',
    all: 'All',
    waiting: 'Waiting',
    received: 'Received',
    failed: 'Failed',
    notSent: 'Not sent',
    sending: 'Sending',
    noneOfStatus: 'No deliveries here.',
    none: 'Nothing sent yet. We keep deliveries here for 30 days.',
    summary: (at: ReactNode, tries: string) => (
      <>
        {at} · {tries}
      </>
    ),
    summaryWithNext: (at: ReactNode, tries: string, nextAt: ReactNode) => (
      <>
        {at} · {tries} · next try at {nextAt} or later
      </>
    ),
    tries: (count: number) => (count === 0 ? 'not tried' : count === 1 ? '1 try' : `${count} tries`),
    answered: (status: number | null, milliseconds: number) => `It answered ${status} in ${milliseconds} ms.`,
    sendAgain: 'Send again',
    details: 'Request and responses',
    lastRequest: 'Last request',
    triesTitle: 'Tries',
  },
}
