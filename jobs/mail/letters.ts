import { DateTime } from 'luxon'
import type { Letter } from './layout.ts'

// The mails about an account's password and address.

const NotYou = "If you didn't ask for this, ignore this mail."

/** The letter with the link `url` for a new password. */
export function resetLetter(email: string, url: string): Letter {
  return {
    subject: 'Reset your password',
    before: [`Someone asked for a new password for the account of ${email} on Punctual.`],
    link: { text: 'Choose a new password', url },
    after: ['The link works once, for 1 hour.', `${NotYou} Your password doesn't change.`],
  }
}

/** The letter with the link `url` that verifies `email`. */
export function addressLetter(email: string, url: string): Letter {
  return {
    subject: 'Verify your e-mail address',
    before: [`An account on Punctual uses the address ${email}. Verify it to get mails when a post needs attention.`],
    link: { text: 'Verify this address', url },
    after: ['The link works once, for 7 days.', NotYou],
  }
}

/** The letter with the link `url` that creates the account of `email`. */
export function signUpLetter(email: string, url: string): Letter {
  return {
    subject: 'Finish your sign-up',
    before: [
      `Someone signed up on Punctual with the address ${email}. If it was you, open the link and enter the password that you chose.`,
    ],
    link: { text: 'Finish your sign-up', url },
    after: ['The link works once, for 24 hours.', `${NotYou} Without the link, no account is created.`],
  }
}

// To an owner who may only have forgotten the account.
function toOwner(appUrl: string): Pick<Letter, 'list' | 'after'> {
  return {
    list: [
      { title: 'Sign in', details: [], url: `${appUrl}/login` },
      { title: 'Reset your password', details: [], url: `${appUrl}/forgot` },
    ],
    after: [`${NotYou} Your account doesn't change.`],
  }
}

/** The letter to an account's owner whose address was typed at a sign-up. */
export function takenLetter(email: string, appUrl: string): Letter {
  return {
    subject: 'You already have an account',
    before: [
      `Someone wanted to sign up on Punctual with the address ${email}. You already have an account with this address.`,
    ],
    ...toOwner(appUrl),
  }
}

/** The letter with the link `url` that gives `email` to an account. */
export function newAddressLetter(email: string, url: string): Letter {
  return {
    subject: 'Confirm your new e-mail address',
    before: [
      `Someone asked to use the address ${email} for their account on Punctual. If it was you, open the link. If you have to sign in, use your current address.`,
    ],
    link: { text: 'Use this address', url },
    after: ['The link works once, for 24 hours.', `${NotYou} Without the link, no account gets this address.`],
  }
}

/** The letter to an account's owner whose address was asked for by another account. */
export function addressTakenLetter(email: string, appUrl: string): Letter {
  return {
    subject: 'You already have an account',
    before: [
      `Someone asked to use the address ${email} for another account on Punctual. You already have an account with this address, so the other one doesn't get it.`,
    ],
    ...toOwner(appUrl),
  }
}

/** The letter that says when a password was changed. `at` is ISO 8601. */
export function changedLetter(change: { email: string; timeZone: string; at: string; appUrl: string }): Letter {
  const { email, timeZone, at, appUrl } = change
  return {
    subject: 'Your password was changed',
    before: [
      `The password of the account ${email} on Punctual was changed on ${timeIn(timeZone, at)}.`,
      'Every other browser was signed out.',
      "If you didn't do this, reset your password now.",
    ],
    link: { text: 'Reset your password', url: `${appUrl}/forgot` },
  }
}

/**
 * The letter to the former address of an account. It doesn't say the new one: the reader may be another person by now,
 * such as a former employer.
 */
export function addressChangedLetter({ timeZone, at }: { timeZone: string; at: string }): Letter {
  return {
    subject: 'Your e-mail address was changed',
    before: [
      `The account on Punctual that used this e-mail address got another one on ${timeIn(timeZone, at)}.`,
      'We send no more mails about that account to this address.',
    ],
    after: [
      "If you didn't do this, someone knows your password. Tell the people who run this Punctual: they can set a new password for you.",
    ],
  }
}

/** An instant (ISO 8601) on the clock of `timeZone`, with the zone: `Mon 3 Nov 2031, 10:00 (Europe/Berlin)`. */
export function timeIn(timeZone: string, at: string): string {
  const local = DateTime.fromJSDate(new Date(at), { zone: timeZone }).setLocale('en')
  return `${local.toFormat('ccc d LLL yyyy, HH:mm')} (${timeZone})`
}
