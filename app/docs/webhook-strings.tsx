import type { ReactNode } from 'react'

/** What the page about webhooks in the documentation says. */
export const webhookGuideStrings = {
  lead: (standard: ReactNode) => (
    <>Send events about posts and channels to your server, so that it needs no polling. Webhooks follow {standard}.</>
  ),
  standard: 'Standard Webhooks',

  add: {
    title: 'Add an endpoint',
    paragraphs: [
      'Owners and admins add an endpoint under Settings › Developers › Webhooks. Its page there shows what was sent to it. An app adds one with POST /webhooks. This needs the scope webhooks:manage. It also needs the scope that reads each kind of event: posts:read or channels:read. An organisation can have at most 20 webhooks.',
      'A webhook that an access token adds belongs to its consent. It gets events only of the channels that the consent grants. No other credential of the app sees it, and it is deleted when the consent ends.',
      'The address must be public and use http or https. We never call an address in a private network. Prefer https: without it, others can read the events.',
    ],
  },

  events: {
    title: 'Events',
    meaning: (words: string) => `${words}.`,
    note: 'The five events from post.published to post.cancelled are sent each time a post gets that status. If a post fails, is retried and is then published, you get both post.failed and post.published. webhook.test is sent only when somebody asks for it. Every endpoint gets it, whatever events it chose.',
  },

  call: {
    title: 'The call',
    body: (post: ReactNode, channel: ReactNode) => (
      <>
        Each call is a POST of JSON with three members: type, timestamp and data. data is the {post} or the {channel} as
        the API showed it when the event happened. timestamp is that time.
      </>
    ),
    post: 'Post',
    channel: 'Channel',
    example: 'Headers and body',
    copyExample: 'Copy headers and body',
    headers:
      'webhook-id identifies the event. It is the same for each try and each webhook. webhook-timestamp is the time of this try, in seconds. webhook-signature is v1, then a comma, then a signature in base64. The signature is the HMAC-SHA256 of the id, the timestamp and the body, joined with full stops. During a rotation there are two signatures, separated by a space.',
  },

  verify: {
    title: 'Verify a call',
    text: 'Anybody can call your address. Trust a call only if its signature is right. Compare signatures in constant time. Refuse calls older than five minutes, so that nobody can replay them later. Verify the raw body: once parsed and serialised again, its bytes can differ. The examples use lower-case header names.',
    nodeWithPackage: 'Node, with the package standardwebhooks',
    copyNodeWithPackage: 'Copy Node example with the package standardwebhooks',
    node: 'Node, without a package',
    copyNode: 'Copy Node example without a package',
    pythonWithPackage: 'Python, with the package standardwebhooks',
    copyPythonWithPackage: 'Copy Python example with the package standardwebhooks',
    python: 'Python, without a package',
    copyPython: 'Copy Python example without a package',
  },

  receive: {
    title: 'Receive each event once',
    paragraphs: [
      "Answer with a status from 200 to 299 within 10 seconds to say that you have the event. Store the event, answer, then do the work. Anything else counts as a failure. We don't follow redirects, and 410 Gone switches the webhook off.",
      'We send each event at least once. If your answer is lost, we send the event again, so store each webhook-id and ignore repeats. Each webhook gets one call at a time, and events usually arrive in the order in which they happened. A failed event arrives later, so this order is not guaranteed: compare timestamp, or read the post.',
    ],
  },

  retries: {
    title: 'Retries',
    text: 'We retry a failed event after 5 seconds, then after 30 seconds, 2, 10 and 30 minutes, and 2, 4, 8 and 10 hours: ten tries over about a day. Each try has the same webhook-id and body, with a new timestamp and signature. If a webhook keeps failing, we call it less often, up to 10 minutes apart. As soon as it succeeds, we send everything that waits.',
  },

  rotate: {
    title: 'Rotate the secret',
    text: 'Press Rotate secret, or send POST /webhooks/{id}/rotate, to make a new secret. You see it once. For 24 hours we sign each call with both secrets, so a receiver with either secret finds a valid signature. Change to the new secret within that day.',
  },

  off: {
    title: 'Switched off',
    text: "We switch a webhook off if every call fails for three days, or if it answers 410 Gone. The Webhooks page then says so. We don't send the events that were waiting, and we keep no events for it while it is off. Fix the receiver, then press Switch on, or send PATCH /webhooks/{id} with the status ACTIVE. The webhook gets events from then on.",
  },

  missed: {
    title: 'Missed events',
    text: (reference: ReactNode) => (
      <>
        We keep each event for 30 days, with its tries and your answers. Find them in the log in the settings, or with
        GET /webhooks/{'{id}'}/deliveries. You can resend an event from there; it keeps its webhook-id. For events while
        the webhook was off, list the posts with GET /posts and read their status. {reference}
      </>
    ),
    reference: 'API reference: posts',
  },
}
