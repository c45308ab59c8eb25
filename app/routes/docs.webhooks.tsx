import type { MetaFunction } from '@remix-run/node'
import { Link } from '@remix-run/react'
import type { ReactNode } from 'react'
import { eventTypes } from '../../server/webhooks/forms.ts'
import { eventWords } from '../../server/words.ts'
import { webhookExamples } from '../developers/webhooks/webhook-examples.ts'
import { NamedSnippet } from '../ui/copy.tsx'

export const meta: MetaFunction = () => [{ title: 'Webhooks · Punctual' }]

export default function Webhooks() {
  return (
    <article className="max-w-3xl">
      <h1 className="font-semibold text-2xl tracking-tight">Webhooks</h1>
      <p className="mt-1 text-muted">
        An address of yours is told what becomes of posts and channels, so that you need not ask again and again. They
        follow{' '}
        <a
          href="https://www.standardwebhooks.com"
          rel="noopener noreferrer"
          className="text-accent-ink underline underline-offset-2"
        >
          Standard Webhooks
        </a>
        .
      </p>
      <Adding />
      <Events />
      <Call />
      <Verification />
      <Receiving />
      <Trying />
      <Rotation />
      <Off />
      <Missed />
    </article>
  )
}

function Adding() {
  return (
    <Section id="add" title="Add one">
      <p>
        Owners and admins add an endpoint under Settings › Developers › Webhooks and see there what was sent to it. A
        program does the same with POST /webhooks, which takes the scope webhooks:manage, and for each kind of event the
        scope that reads it: posts:read or channels:read. An organisation has at most 20.
      </p>
      <p>
        What an access token adds belongs to its consent: it is told only of the channels that were granted, no other
        credential of the app sees it, and it ends with the consent.
      </p>
      <p>
        The address must be public, with http or https: what leads into a private network is never called. Prefer https,
        since without it others can read along.
      </p>
    </Section>
  )
}

function Events() {
  return (
    <Section id="events" title="Events">
      <dl className="divide-y divide-line rounded-lg border border-line text-sm">
        {[...eventTypes, 'webhook.test' as const].map((type) => (
          <div key={type} className="gap-x-4 px-3.5 py-2 sm:flex">
            <dt className="shrink-0 sm:w-56">
              <code className="break-all font-mono">{type}</code>
            </dt>
            <dd className="min-w-0">{eventWords[type]}.</dd>
          </div>
        ))}
      </dl>
      <p>
        The five that tell what became of a post, from post.published to post.cancelled, are sent each time that its
        status becomes that: a post that failed, was sent again and then went out is told of as post.failed and as
        post.published. webhook.test comes only when somebody asks for it, whatever events were chosen.
      </p>
    </Section>
  )
}

function Call() {
  return (
    <Section id="call" title="The call">
      <p>
        A POST of JSON with three members. data is the{' '}
        <a href="/docs/reference/schemas#schema-Post" className="text-accent-ink underline underline-offset-2">
          Post
        </a>{' '}
        or the{' '}
        <a href="/docs/reference/schemas#schema-Channel" className="text-accent-ink underline underline-offset-2">
          Channel
        </a>{' '}
        as the API showed it at that moment, and timestamp that moment.
      </p>
      <NamedSnippet
        title="Headers and body"
        copyName="Copy headers and body"
        text={`content-type: application/json
webhook-id: 0199f3a2-7c1e-7d55-8b3a-2f6e1c9d4a70
webhook-timestamp: 1798135200
webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=

{"type":"post.published","timestamp":"2026-12-24T18:00:00.412Z","data":{"id":"…","status":"PUBLISHED",…}}`}
      />
      <p>
        webhook-id names the event: it is the same at each try and in each webhook. webhook-timestamp is the second of
        this try. webhook-signature is the word v1, a comma, and HMAC-SHA256 in base64 of the id, the timestamp and the
        body, with a full stop between them. During a rotation there are two, with a space between them.
      </p>
    </Section>
  )
}

function Verification() {
  const { nodeWithPackage, node, pythonWithPackage, python } = webhookExamples
  return (
    <Section id="verify" title="Verify a call">
      <p>
        Anybody can call your address. Believe a call only when its signature is right, compare in constant time, and
        refuse what is older than five minutes, so that nobody can play it again later. Take the body byte for byte as
        it arrived: parsed and written again it is another one. The names of headers are in lower case below.
      </p>
      <NamedSnippet
        title="Node, with the package standardwebhooks"
        copyName="Copy Node example with the package standardwebhooks"
        text={nodeWithPackage}
      />
      <NamedSnippet title="Node, without a package" copyName="Copy Node example without a package" text={node} />
      <NamedSnippet
        title="Python, with the package standardwebhooks"
        copyName="Copy Python example with the package standardwebhooks"
        text={pythonWithPackage}
      />
      <NamedSnippet title="Python, without a package" copyName="Copy Python example without a package" text={python} />
    </Section>
  )
}

function Receiving() {
  return (
    <Section id="receive" title="Receive it once">
      <p>
        An answer from 200 to 299 within 10 seconds says that you have it. Keep the event, answer, and do the work after
        that. Anything else counts as failed; redirects are not followed, and 410 Gone switches the webhook off.
      </p>
      <p>
        Each event is sent at least once. When your answer is lost it comes again, so store each webhook-id and ignore
        one that you have. Each webhook is called once at a time, and events usually arrive in the order in which they
        happened. That is not promised, since one that failed comes later: compare timestamp, or read the post.
      </p>
    </Section>
  )
}

function Trying() {
  return (
    <Section id="retries" title="Tries">
      <p>
        What was not received is sent again 5 seconds later, then after 30 seconds, 2, 10 and 30 minutes, and 2, 4, 8
        and 10 hours: ten tries over about a day. Each has the same webhook-id and the same body, with a timestamp and a
        signature of its own. A webhook that goes on failing is called more rarely, up to 10 minutes apart; as soon as
        it answers well, it gets all that waits.
      </p>
    </Section>
  )
}

function Rotation() {
  return (
    <Section id="rotate" title="Rotate the secret">
      <p>
        Rotate secret, or POST /webhooks/{'{id}'}/rotate, makes a new one and shows it once. For 24 hours each call is
        signed with both, so a receiver that knows either finds a signature that is right. Change over within that day.
      </p>
    </Section>
  )
}

function Off() {
  return (
    <Section id="off" title="Switched off">
      <p>
        A webhook that has only failed for three days, or answers 410 Gone, is switched off, and the page of webhooks
        says so. What waited for it then is not sent, and nothing is kept for it while it is off. Mend the receiver,
        then press Switch on, or send PATCH /webhooks/{'{id}'} with the status ACTIVE: it is told of what happens from
        then on.
      </p>
    </Section>
  )
}

function Missed() {
  return (
    <Section id="missed" title="What was missed">
      <p>
        Each event with its tries and your answers is kept for 30 days in the log, in the settings and at GET /webhooks/
        {'{id}'}/deliveries. Send it again from there under its old webhook-id. For what happened while the webhook was
        off, list the posts with GET /posts: each says what became of it.{' '}
        <Link to="/docs/reference/posts" className="text-accent-ink underline underline-offset-2">
          Reference
        </Link>
      </p>
    </Section>
  )
}

function Section({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="mt-8 scroll-mt-6 space-y-3">
      <h2 id={`${id}-title`} className="font-semibold text-lg">
        {title}
      </h2>
      {children}
    </section>
  )
}
