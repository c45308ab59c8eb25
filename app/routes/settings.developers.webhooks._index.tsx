import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, Link, useActionData, useLoaderData } from '@remix-run/react'
import { ChevronRight, Webhook as WebhookIcon } from 'lucide-react'
import type { Webhook } from '../../server/webhooks/webhooks.ts'
import { answer, formOf, signedIn } from '../api.ts'
import { webhookStrings } from '../developers/webhooks/strings.tsx'
import { NewWebhook } from '../developers/webhooks/typed.ts'
import { SecretShown, WebhookForm } from '../developers/webhooks/webhook-form.tsx'
import { cureOf, isAmiss, isTroubled, Trouble, WebhookState } from '../developers/webhooks/webhook-state.tsx'
import { mayManage } from '../shell/permissions.ts'
import { Button, ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead, Panel } from '../ui/page.tsx'
import { Warning } from '../ui/warning.tsx'

export const meta: MetaFunction = () => [{ title: webhookStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const mayMake = mayManage(member.role)
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  const webhooks = mayMake ? (await api.webhooks.list({})).data : []
  return json({ mayMake, asked, webhooks })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  return answer(formOf(args.context), NewWebhook, async (wanted) => {
    const { id, url, secret } = await api.webhooks.create(wanted)
    return json({ made: { id, url, secret } })
  })
}

type Made = { id: string; url: string; secret: string }

export default function Webhooks() {
  const { mayMake, asked, webhooks } = useLoaderData<typeof loader>()
  const { made } = (useActionData() ?? {}) as { made?: Made }
  if (!mayMake) return <PageHead title={webhookStrings.title} lead={webhookStrings.forManagersOnly} />
  return (
    <>
      <PageHead
        title={webhookStrings.title}
        lead={webhookStrings.lead(
          <Link to="/docs/webhooks" className="text-accent-ink underline underline-offset-2">
            {webhookStrings.guide}
          </Link>,
        )}
      >
        <Form preventScrollReset>
          <Button type="submit" name="add" value="" look="primary">
            {webhookStrings.add}
          </Button>
        </Form>
      </PageHead>
      {'deleted' in asked ? <Notice>{webhookStrings.deleted}</Notice> : null}
      <Troubles />
      <div className="space-y-6">
        {made ? <Added made={made} /> : null}
        {'add' in asked && !made ? <NewEndpoint /> : null}
        {webhooks.length > 0 ? <List /> : <NoWebhooks />}
      </div>
    </>
  )
}

function Troubles() {
  const troubled = useLoaderData<typeof loader>().webhooks.filter(isTroubled)
  if (troubled.length === 0) return null
  return (
    <Warning>
      {troubled.map((webhook) => (
        <p key={webhook.id}>
          <Trouble of={webhook} name={<UrlLink webhook={webhook} />} /> {cureOf(webhook)}
        </p>
      ))}
    </Warning>
  )
}

function UrlLink({ webhook }: { webhook: Pick<Webhook, 'id' | 'url'> }) {
  return (
    <Link to={pathOf(webhook)} className="break-all font-medium underline underline-offset-2">
      {webhook.url}
    </Link>
  )
}

function Added({ made }: { made: Made }) {
  return (
    <SecretShown title={webhookStrings.secret.addedTitle} secret={made.secret}>
      <ButtonLink to={pathOf(made)}>{webhookStrings.secret.tryIt}</ButtonLink>
    </SecretShown>
  )
}

function NewEndpoint() {
  const { addTitle, add, close } = webhookStrings.form
  return (
    <Panel title={addTitle}>
      <WebhookForm intent="add">
        <Submit look="primary">{add}</Submit>
        <ButtonLink to="/settings/developers/webhooks" look="quiet">
          {close}
        </ButtonLink>
      </WebhookForm>
    </Panel>
  )
}

function List() {
  const { webhooks } = useLoaderData<typeof loader>()
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-panel shadow-sm">
      {webhooks.map((webhook) => (
        <li key={webhook.id} className="relative flex items-center gap-4 px-4 py-4 hover:bg-sunken/60 sm:px-5">
          <div className="min-w-0 flex-1">
            <Link
              to={pathOf(webhook)}
              prefetch="intent"
              className="block truncate font-mono text-sm font-medium after:absolute after:inset-0"
            >
              {webhook.url}
            </Link>
            {webhook.description ? <p className="truncate text-sm">{webhook.description}</p> : null}
            <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-muted">
              <WebhookState of={webhook} />
              {webhookStrings.events(webhook.events.length)}
            </p>
            {isAmiss(webhook) ? (
              <p className="mt-1 text-sm text-muted">
                <Trouble of={webhook} name={webhookStrings.it} />
              </p>
            ) : null}
          </div>
          <ChevronRight aria-hidden className="size-4 shrink-0 text-muted" />
        </li>
      ))}
    </ul>
  )
}

function pathOf({ id }: Pick<Webhook, 'id'>): string {
  return `/settings/developers/webhooks/${id}`
}

function NoWebhooks() {
  return (
    <Empty icon={<WebhookIcon aria-hidden />} title={webhookStrings.none.title}>
      <p>{webhookStrings.none.text}</p>
    </Empty>
  )
}
