import type { MetaFunction } from '@remix-run/node'
import { Link } from '@remix-run/react'
import type { ReactNode } from 'react'
import { eventTypes } from '../../server/webhooks/event-names.ts'
import { eventWords } from '../../server/words.ts'
import { webhookExamples } from '../developers/webhooks/webhook-examples.ts'
import { docsStrings } from '../docs/strings.tsx'
import { webhookGuideStrings } from '../docs/webhook-strings.tsx'
import { NamedSnippet } from '../ui/copy.tsx'

export const meta: MetaFunction = () => [{ title: docsStrings.pageTitle(docsStrings.pages.webhooks) }]

const link = 'text-accent-ink underline underline-offset-2'

export default function Webhooks() {
  const { lead, standard, add, receive, retries, rotate, off } = webhookGuideStrings
  return (
    <article className="max-w-3xl">
      <h1 className="font-semibold text-2xl tracking-tight">{docsStrings.pages.webhooks}</h1>
      <p className="mt-1 text-muted">
        {lead(
          <a href="https://www.standardwebhooks.com" rel="noopener noreferrer" className={link}>
            {standard}
          </a>,
        )}
      </p>
      <Section id="add" title={add.title}>
        <Paragraphs of={add.paragraphs} />
      </Section>
      <Events />
      <Call />
      <Verification />
      <Section id="receive" title={receive.title}>
        <Paragraphs of={receive.paragraphs} />
      </Section>
      <Section id="retries" title={retries.title}>
        <p>{retries.text}</p>
      </Section>
      <Section id="rotate" title={rotate.title}>
        <p>{rotate.text}</p>
      </Section>
      <Section id="off" title={off.title}>
        <p>{off.text}</p>
      </Section>
      <Missed />
    </article>
  )
}

function Events() {
  const { title, meaning, note } = webhookGuideStrings.events
  return (
    <Section id="events" title={title}>
      <dl className="divide-y divide-line rounded-lg border border-line text-sm">
        {[...eventTypes, 'webhook.test' as const].map((type) => (
          <div key={type} className="gap-x-4 px-3.5 py-2 sm:flex">
            <dt className="shrink-0 sm:w-56">
              <code className="break-all font-mono">{type}</code>
            </dt>
            <dd className="min-w-0">{meaning(eventWords[type])}</dd>
          </div>
        ))}
      </dl>
      <p>{note}</p>
    </Section>
  )
}

const exampleCall = `content-type: application/json
webhook-id: 0199f3a2-7c1e-7d55-8b3a-2f6e1c9d4a70
webhook-timestamp: 1798135200
webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=

{"type":"post.published","timestamp":"2026-12-24T18:00:00.412Z","data":{"id":"…","status":"PUBLISHED",…}}`

function Call() {
  const strings = webhookGuideStrings.call
  return (
    <Section id="call" title={strings.title}>
      <p>
        {strings.body(
          <a href="/docs/reference/schemas#schema-Post" className={link}>
            {strings.post}
          </a>,
          <a href="/docs/reference/schemas#schema-Channel" className={link}>
            {strings.channel}
          </a>,
        )}
      </p>
      <NamedSnippet title={strings.example} copyName={strings.copyExample} text={exampleCall} />
      <p>{strings.headers}</p>
    </Section>
  )
}

function Verification() {
  const { nodeWithPackage, node, pythonWithPackage, python } = webhookExamples
  const strings = webhookGuideStrings.verify
  return (
    <Section id="verify" title={strings.title}>
      <p>{strings.text}</p>
      <NamedSnippet title={strings.nodeWithPackage} copyName={strings.copyNodeWithPackage} text={nodeWithPackage} />
      <NamedSnippet title={strings.node} copyName={strings.copyNode} text={node} />
      <NamedSnippet
        title={strings.pythonWithPackage}
        copyName={strings.copyPythonWithPackage}
        text={pythonWithPackage}
      />
      <NamedSnippet title={strings.python} copyName={strings.copyPython} text={python} />
    </Section>
  )
}

function Missed() {
  const { title, text, reference } = webhookGuideStrings.missed
  return (
    <Section id="missed" title={title}>
      <p>
        {text(
          <Link to="/docs/reference/posts" className={link}>
            {reference}
          </Link>,
        )}
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

function Paragraphs({ of: paragraphs }: { of: string[] }) {
  return paragraphs.map((text) => <p key={text}>{text}</p>)
}
