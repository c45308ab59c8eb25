import { Ban, CircleCheck, CircleX, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Webhook } from '../../../server/webhooks/webhooks.ts'
import { Instant } from '../../shell/instant.tsx'
import { Pill } from '../../ui/status.tsx'
import { webhookStrings } from './strings.tsx'

type State = Pick<Webhook, 'status' | 'offReason' | 'offSince' | 'failingSince'>

/** In one word: whether we call a webhook, and whether it works. */
export function WebhookState({ of: webhook }: { of: State }) {
  const { active, failing, off, switchedOff } = webhookStrings.state
  if (webhook.offReason === 'person') return <Pill name={off} icon={Ban} tone="calm" />
  if (webhook.status === 'OFF') return <Pill name={switchedOff} icon={CircleX} tone="bad" />
  if (webhook.failingSince) return <Pill name={failing} icon={TriangleAlert} tone="warn" />
  return <Pill name={active} icon={CircleCheck} tone="good" />
}

/** Whether it is off or failing. */
export function isAmiss({ offSince, failingSince }: State): boolean {
  return offSince !== null || failingSince !== null
}

/** Whether somebody must fix something: it fails, or we switched it off because it failed. */
export function isTroubled({ offReason, failingSince }: State): boolean {
  return offReason === 'failing' || offReason === 'gone' || (offReason === null && failingSince !== null)
}

/** What is wrong with a webhook, as a sentence about `name`. Empty when it works. */
export function Trouble({ of: { offReason, offSince, failingSince }, name }: { of: State; name: ReactNode }) {
  if (offSince) return offSentences[offReason ?? 'person'](name, <Instant at={offSince} />)
  if (!failingSince) return null
  return webhookStrings.trouble.failing(name, <Instant at={failingSince} />)
}

const offSentences = {
  failing: webhookStrings.trouble.offAfterFailing,
  gone: webhookStrings.trouble.offForGone,
  person: webhookStrings.trouble.offByHand,
}

/** What to do about it. */
export function cureOf({ offReason, status }: State): string {
  const { offByHand, switchedOff, failing } = webhookStrings.cure
  if (offReason === 'person') return offByHand
  return status === 'OFF' ? switchedOff : failing
}
