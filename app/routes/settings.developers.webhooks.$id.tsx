import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useActionData, useLoaderData } from '@remix-run/react'
import { ById } from '../../server/forms.ts'
import { ListWebhookDeliveries, UpdateWebhook, WebhookDeliveryById } from '../../server/webhooks/forms.ts'
import { answer, formOf, shown, signedIn, withOthers } from '../api.ts'
import { webhookStrings } from '../developers/webhooks/strings.tsx'
import { ChangedWebhook } from '../developers/webhooks/typed.ts'
import { WebhookCard, WebhookPanel } from '../developers/webhooks/webhook-card.tsx'
import { SecretShown } from '../developers/webhooks/webhook-form.tsx'
import { WebhookLog } from '../developers/webhooks/webhook-log.tsx'
import { cureOf, isAmiss, Trouble } from '../developers/webhooks/webhook-state.tsx'
import { useRereading } from '../ui/live.ts'
import { Notice } from '../ui/notice.tsx'
import { PageHead } from '../ui/page.tsx'
import { nowMs } from '../ui/time/now.ts'
import { Warning } from '../ui/warning.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: data ? webhookStrings.endpointPageTitle(new URL(data.webhook.url).host) : webhookStrings.pageTitle },
]

const PageLimit = 20

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const id = String(args.params.id)
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  const { cursor } = asked
  const status = ListWebhookDeliveries.shape.status.safeParse(asked.status).data // an unknown status shows all
  // The log first: the page reloads only while the log shows a delivery that is due.
  const log = await shown(api.webhooks.deliveries({ id, status, limit: PageLimit, ...(cursor ? { cursor } : {}) }))
  const webhook = await shown(api.webhooks.get({ id }))
  return json({ webhook, log, status: status ?? null, asked })
}

export async function action(args: ActionFunctionArgs) {
  const { webhooks } = signedIn(args).api
  const id = String(args.params.id)
  const form = formOf(args.context)
  form.set('id', id)
  const intent = form.get('intent')
  if (intent === 'test')
    return answer(form, ById, async (wanted) => {
      await webhooks.test(wanted)
      return { said: webhookStrings.testSent }
    })
  if (intent === 'resend')
    return answer(form, WebhookDeliveryById, async (wanted) => {
      await webhooks.resend(wanted)
      return { said: webhookStrings.resent }
    })
  if (intent === 'rotate')
    return answer(form, ById, async (wanted) => json({ newSecret: (await webhooks.rotate(wanted)).secret }))
  if (intent === 'delete')
    return answer(form, ById, async (wanted) => {
      await webhooks.remove(wanted)
      return redirect('/settings/developers/webhooks?deleted')
    })
  const [schema, done] = intent === 'switch' ? [UpdateWebhook, 'switched'] : [ChangedWebhook, 'saved']
  return answer(form, schema, async (wanted, began) => {
    await webhooks.update(withOthers(wanted, began, await webhooks.get({ id })))
    return redirect(`/settings/developers/webhooks/${id}?${done}`)
  })
}

export default function WebhookPage() {
  const { webhook, log, asked } = useLoaderData<typeof loader>()
  const { newSecret } = (useActionData() ?? {}) as { newSecret?: string }
  useRereading(() => log.data.some((delivery) => isDue(delivery, nowMs())))
  const isOn = webhook.status === 'ACTIVE'
  return (
    <>
      <PageHead title={webhookStrings.endpointTitle(new URL(webhook.url).host)} />
      {'saved' in asked ? <Notice>{webhookStrings.saved}</Notice> : null}
      {'switched' in asked && isOn ? <Notice>{webhookStrings.switchedOn}</Notice> : null}
      {isAmiss(webhook) ? (
        <Warning>
          <p>
            <Trouble of={webhook} name={webhookStrings.thisEndpoint} /> {cureOf(webhook)}
          </p>
        </Warning>
      ) : null}
      <div className="space-y-6">
        {newSecret ? (
          <SecretShown title={webhookStrings.secret.rotatedTitle} secret={newSecret}>
            <p className="text-sm text-muted">{webhookStrings.secret.overlap}</p>
          </SecretShown>
        ) : (
          <WebhookPanel />
        )}
        <WebhookCard />
        <WebhookLog />
      </div>
    </>
  )
}

function isDue({ nextAttemptAt }: { nextAttemptAt: string | null }, nowMs: number): boolean {
  return nextAttemptAt !== null && Date.parse(nextAttemptAt) <= nowMs
}
