import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { MailSettings } from '../../db/env.ts'
import { RefusedRecipient } from '../../db/schema/mail.ts'
import type { Times } from '../timeouts-and-delays.ts'
import type { Message } from './outbox.ts'

/** How a try ended. `failure` is a short code for the operator, never the server's text: that may name the recipient. */
export type Outcome = { sent: true } | { sent: false; isFinal: boolean; failure: string }

/** What makes a message one of ours: its Message-ID and headers. `at` is when the mail was written. */
export type Envelope = { messageId: string; at: Date; headers: Record<string, string> }

/** Sends messages. `close` ends the connections of a pool. */
export type Transport = { send: (message: Message, envelope: Envelope) => Promise<Outcome>; close: () => void }

/**
 * The operator's mail server. It is theirs, and may be in their own network, so it does not go through jobs/outbound:
 * nobody else can choose its address. `url` null (development only): nothing is sent, the mail is only kept.
 */
export function openTransport({ url, from }: MailSettings, times: Times): Transport {
  if (url === null) return { send: async () => ({ sent: true }), close: () => {} }
  const mailer = createTransport(withLimits(url, times))
  const send = async (message: Message, { messageId, at, headers }: Envelope): Promise<Outcome> => {
    const sending = mailer
      .sendMail({
        from,
        ...message,
        to: { name: '', address: message.to },
        messageId,
        date: at,
        headers,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      .then((): Outcome => ({ sent: true }), outcomeOf)
    // A server that drips keeps each single limit.
    const slow = sleep(times.mailMs, { sent: false, isFinal: false, failure: 'too_slow' } as const, { ref: false })
    return Promise.race([sending, slow])
  }
  return { send, close: () => mailer.close() }
}

// nodemailer takes these limits from the URL, and no `logger`: it would print whole mails.
function withLimits(smtpUrl: string, { mailConnectMs, mailSilenceMs }: Times): string {
  const url = new URL(smtpUrl)
  for (const name of ['logger', 'debug', 'transactionLog']) url.searchParams.delete(name)
  const limits = { connectionTimeout: mailConnectMs, greetingTimeout: mailConnectMs, dnsTimeout: mailConnectMs }
  for (const [name, limitMs] of Object.entries({ ...limits, socketTimeout: mailSilenceMs }))
    if (!url.searchParams.has(name)) url.searchParams.set(name, String(Math.ceil(limitMs)))
  return url.href
}

type SmtpError = Error & { code?: string; responseCode?: number; command?: string }

// Only a refusal of this recipient or this message ends it. A wrong password or sender is the operator's to fix.
function outcomeOf({ code = 'unknown', responseCode = 0, command = '' }: SmtpError): Outcome {
  const isFinal = responseCode >= 500 && [RefusedRecipient, 'DATA'].includes(command)
  return { sent: false, isFinal, failure: [code, responseCode || null, command].filter(Boolean).join(' ') }
}
