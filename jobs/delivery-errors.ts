import { type SQL, sql } from 'drizzle-orm'
import type { DeliveryError } from '../db/schema/ledger.ts'

// What a delivery's error says: what happened (`message`), and what to do about it (`nextStep`).

const sayIfPublished =
  'Check the account. If the post is there, choose "It was published". If not, choose "It wasn\'t: send it".'

/** These codes have one sentence each: shown as it is today, whatever was stored (`shownError`). */
const ofCode = {
  missed: {
    message: 'Not sent: it was already more than a day late when sending became possible.',
    nextStep: 'Send it now or cancel it.',
  },
  organisation_suspended: {
    message: 'Not sent: its time passed while your organisation was suspended.',
    nextStep: 'Send it now or cancel it.',
  },
  gave_up: {
    message: 'We tried for a day, but could not send this post.',
    nextStep: 'Check the attempts, then retry.',
  },
  crashed_worker: {
    message: 'The worker crashed every time it tried to send this post.',
    nextStep: 'Change what is unusual in its text or files, then retry. If it fails again, tell the operator.',
  },
  restored: {
    message: 'This post may have gone out between the backup and its restore.',
    nextStep: sayIfPublished,
  },
  channel_disconnected: {
    message: 'The channel was disconnected.',
    nextStep: 'Connect it again. Then we send the post automatically.',
  },
} satisfies Record<string, Omit<DeliveryError, 'code'>>

type Code = keyof typeof ofCode

/** The error of a delivery under a code that has one sentence. */
export function errorOf(code: Code): DeliveryError {
  return { code, ...ofCode[code] }
}

const shown = Object.fromEntries((Object.keys(ofCode) as Code[]).map((code) => [code, errorOf(code)]))
const literal = sql.raw(`'${JSON.stringify(shown).replaceAll("'", "''")}'::jsonb`)

/**
 * SQL: the stored `error` of a delivery as callers see it. The database keeps the sentences of its time; a code with one
 * sentence is shown with today's. What a network said, and what holds a name, stays as it was stored.
 */
export function shownError(error: SQL): SQL {
  return sql`coalesce(${literal} -> (${error} ->> 'code'), ${error})`
}

/** Its channel needs a person. */
export const heldError: DeliveryError = {
  code: 'channel_needs_reconnect',
  message: 'The network no longer accepts this connection.',
  nextStep: 'Reconnect the channel. Then we send the post automatically.',
}

// The outcome is unknown, for different reasons.
const outcome_unknown = 'outcome_unknown'

/** An attempt before the organisation was suspended may have sent it. */
export const suspendedMaybeOutError: DeliveryError = {
  code: outcome_unknown,
  message: 'We may have sent this post before your organisation was suspended.',
  nextStep: sayIfPublished,
}

/** The worker that sent it ended before it heard the answer. */
export const goneError: DeliveryError = {
  code: outcome_unknown,
  message: 'The worker stopped before the network answered.',
  nextStep: "We're checking if your post went out.",
}

/** On a network that accepts a key: sending again is safe. */
export const repeatedError: DeliveryError = {
  code: outcome_unknown,
  message: "We don't know if this post went out.",
  nextStep: 'We send it again with the same key. If it is already there, it stays one post.',
}

/** It was looked for twice. */
export const absentError: DeliveryError = {
  code: outcome_unknown,
  message: 'We sent this post, looked for it twice, and it is not there.',
  nextStep: 'We send it again.',
}

/** The code of an outcome that a reading left open: by it the next reading knows. */
export const UnclearCode = 'cannot_be_read'

/** Something at `url` may be the post. */
export function unclearError(message: string, url: string | null): DeliveryError {
  const question = url === null ? sayIfPublished : `Is this your post? ${url} ${yesOrNo}`
  return { code: UnclearCode, message, nextStep: question }
}

const yesOrNo = 'If it is, choose "It was published". If not, choose "It wasn\'t: send it".'

/** It was looked for once more on `server`, after its channel was connected again. */
export function notSeenError(server: string | null): DeliveryError {
  return {
    code: outcome_unknown,
    message: `You reconnected the channel. We looked on ${server ?? 'the network'} once more and did not see the post.`,
    nextStep: sayIfPublished,
  }
}

/** `server` shows nothing that would tell; `why` is another sentence. Null: a network that this worker does not know. */
export function cannotTellError(server: string | null, why = ''): DeliveryError {
  return {
    code: outcome_unknown,
    message: `${server ?? 'The network'} did not say if the post went out, and we can't find out. ${why}`.trim(),
    nextStep: sayIfPublished,
  }
}
