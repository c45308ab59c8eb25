import { setTimeout as sleep } from 'node:timers/promises'
import { kindsToTyped, RefusedRecipient } from '../../db/schema/mail.ts'
import type { Deps } from '../deps.ts'
import { retryWrite } from '../publish/retry-write.ts'
import { collectNotices } from './collect.ts'
import { messageFor } from './compose.ts'
import { type ClaimedMail, claimMail, endMail, giveUpMails, postponeMail } from './outbox.ts'
import { type Envelope, type Outcome, openTransport, type Transport } from './transport.ts'

const MailsAtOnce = 5 // of a worker

/** Sends mails for a worker. `call` is the task of a wake-up. */
export type MailSender = {
  call: () => void
  /** Collect notices, end mails that waited too long, and send the mails that lost their wake-up. */
  tidy: () => Promise<void>
  /** Begin nothing more, and wait a moment for mails that are being sent. */
  stop: () => Promise<void>
}

/**
 * Send the waiting mails, at most five at once, the oldest first.
 *
 * As with webhooks, a wake-up job ends at once and we send outside it: a mail server that hangs takes no place from
 * posts. Without SMTP_URL nothing is sent, and mails end when they are too old.
 */
export function startMailSender(deps: Deps): MailSender {
  const transport = deps.mail && openTransport(deps.mail, deps.times)
  const turns = new Set<Promise<void>>()
  let stopped = false
  let isWaiting = false // a wake-up came while every place was taken
  const begin = () => {
    if (stopped || !transport) return
    isWaiting = turns.size >= MailsAtOnce
    if (isWaiting) return
    const turn = sendDue(deps, transport, () => stopped)
      .catch((error: unknown) => {
        if (!deps.outage.hasBegunWith(error)) deps.log.warn({ err: error }, 'sending mails failed; we try again')
      })
      .finally(() => {
        turns.delete(turn)
        if (isWaiting) begin()
      })
    turns.add(turn)
  }
  return {
    call: begin,
    async tidy() {
      await collectNotices(deps.db, deps.times)
      const given = await giveUpMails(deps.db)
      if (given > 0) deps.log.warn({ mails: given }, 'gave up mails that could not be sent in time')
      begin()
    },
    async stop() {
      stopped = true
      await Promise.race([Promise.all(turns), sleep(deps.times.mailStopMs, undefined, { ref: false })])
      transport?.close()
    },
  }
}

async function sendDue(deps: Deps, transport: Transport, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const mail = await claimMail(deps.db, deps.times)
    if (!mail) return
    await sendOne(deps, transport, mail)
  }
}

async function sendOne(deps: Deps, transport: Transport, mail: ClaimedMail): Promise<void> {
  const { db, times, log, metrics } = deps
  const named = { mail: mail.id, kind: mail.kind, organisation: mail.organisationId, attempt: mail.attemptNo }
  const message = await messageFor(deps, mail)
  if (!message) return endMail(db, mail, { state: 'dropped' })
  const outcome = await transport.send(message, envelopeOf(deps, mail))
  deps.at('mailed')
  const keep = deps.mail?.url === null
  let againInMs: number | undefined
  if (outcome.sent) await retryWrite(deps, () => endMail(db, mail, { state: 'sent', keep }), times.mailLeaseMs)
  else if (outcome.isFinal) await endMail(db, mail, { state: 'failed', failure: outcome.failure })
  else againInMs = await postponeMail(db, times, mail, outcome.failure)
  const label = labelOf(mail, outcome)
  metrics.mailEnded(label)
  const failure = outcome.sent ? null : outcome.failure
  const line = { ...named, outcome: label, failure, againInMs } // never its text or recipient
  log[outcome.sent || label === 'no_recipient' ? 'info' : 'warn'](line, 'mail tried')
}

function labelOf({ kind }: ClaimedMail, outcome: Outcome): 'sent' | 'refused' | 'later' | 'no_recipient' {
  if (outcome.sent) return 'sent'
  if (kindsToTyped.includes(kind) && outcome.failure.endsWith(RefusedRecipient)) return 'no_recipient'
  return outcome.isFinal ? 'refused' : 'later'
}

// The same in each try, so that a mail that arrives twice can be recognised.
function envelopeOf({ mail: settings, appUrl }: Deps, mail: ClaimedMail): Envelope {
  const domain = /@([^@>\s]+)>?\s*$/.exec(settings?.from ?? '')?.[1] ?? 'localhost'
  const headers: Record<string, string> = { 'Auto-Submitted': 'auto-generated' }
  if (mail.organisationId !== null) headers['List-Unsubscribe'] = `<${appUrl}/settings/account#mail>`
  return { messageId: `<${mail.id}@${domain}>`, at: new Date(mail.createdAt), headers }
}
