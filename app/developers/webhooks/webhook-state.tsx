import { Ban, CircleCheck, CircleX, TriangleAlert } from 'lucide-react'
import type { Webhook } from '../../../server/webhooks/webhooks.ts'
import { Instant } from '../../shell/instant.tsx'
import { Pill } from '../../ui/status.tsx'

type State = Pick<Webhook, 'status' | 'offReason' | 'offSince' | 'failingSince'>

/** Whether a webhook is called, and with what success, in a word. */
export function WebhookState({ of: webhook }: { of: State }) {
  if (webhook.offReason === 'person') return <Pill name="Off" icon={Ban} tone="calm" />
  if (webhook.status === 'OFF') return <Pill name="Switched off" icon={CircleX} tone="bad" />
  if (webhook.failingSince) return <Pill name="Failing" icon={TriangleAlert} tone="warn" />
  return <Pill name="Active" icon={CircleCheck} tone="good" />
}

/** Whether there is anything to say of it: it is off, by whomever, or it fails. */
export function isAmiss({ offSince, failingSince }: State): boolean {
  return offSince !== null || failingSince !== null
}

/** Whether somebody must mend something: it fails, or was switched off by us for that. */
export function isTroubled({ offReason, failingSince }: State): boolean {
  return offReason === 'failing' || offReason === 'gone' || (offReason === null && failingSince !== null)
}

/** What is wrong with a webhook, as the predicate of a sentence about it; nothing when all is well. */
export function Wrong({ of: { offReason, offSince, failingSince } }: { of: State }) {
  if (offSince)
    return (
      <>
        was switched off on <Instant at={offSince} />, {offReasons[offReason ?? 'person']}
      </>
    )
  if (!failingSince) return null
  return (
    <>
      has been failing since <Instant at={failingSince} />
    </>
  )
}

const offReasons = {
  failing: 'after three days of failing',
  gone: 'because it answered 410 Gone',
  person: 'by hand',
}

/** What to do about it. */
export function cureOf({ offReason, status }: State): string {
  if (offReason === 'person') return 'Nothing is sent to it until you switch it on.'
  if (status === 'OFF')
    return 'Mend the receiver, then switch it on. What waited for it then can be sent again from its log.'
  return 'Look in its log at what it answers and mend it: what waits is sent by itself then. After three days of failing it is switched off.'
}
