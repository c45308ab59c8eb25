import { z } from 'zod'
import { scopes } from '../access/scopes.ts'
import { Id, Instant, line, TimeZone, text } from '../forms.ts'

const Email = z.string().trim().max(254).pipe(z.email('Must be an e-mail address.'))
const Password = text(200).min(10, 'At least 10 characters.')
export const SignUp = z.strictObject({
  name: line(100),
  email: Email,
  password: Password,
  organisation: line(100),
  timeZone: TimeZone.optional(),
})
export const NextLength = 4000 // of a path; browsers and proxies refuse longer addresses
/** `next`: the path to go on to, also from the link in a mail. */
export const BeginSignUp = SignUp.extend({ next: z.string().max(NextLength) })
/** `organisationId`: of a page that goes on after its session ended. The new session begins in it if the person is a member. */
export const SignIn = z.strictObject({
  email: Email,
  password: text(200).min(1, 'Required.'),
  organisationId: Id.optional(),
})
/** `weekStart` is a day from 1, Monday, and `clock` is in hours. 0: by the browser's language. Left out: it stays. */
export const UpdateAccount = z.strictObject({
  name: line(100),
  email: Email,
  timeZone: TimeZone,
  weekStart: z.literal([0, 1, 2, 3, 4, 5, 6, 7]).optional(),
  clock: z.literal([0, 12, 24]).optional(),
  password: text(200).optional(),
})
export const ChangePassword = z.strictObject({ current: text(200).min(1, 'Required.'), password: Password })

const LinkToken = z.string().max(100) // of a link that we mailed

export const ForgotPassword = z.strictObject({ email: Email })
/** How long the token of a mailed link is: 32 bytes in base64url. A shorter one was cut off. */
export const MailedTokenLength = 43
export const MailedLink = z.strictObject({ token: LinkToken })
/** `password`: the one of the sign-up, so that nobody creates an account that somebody else has prepared. */
export const FinishSignUp = MailedLink.extend({ password: text(200).min(1, 'Required.') })
export const ResetPassword = z.strictObject({ token: LinkToken, password: Password })
/** A checkbox: absent when it is off. */
export const MailChoice = z.strictObject({ wantsNotices: z.literal('on').optional() })

export const NewKey = z.strictObject({
  name: line(100),
  scopes: z.array(z.enum(scopes)).min(1, 'Choose at least one scope.').optional(),
  expiresAt: Instant.nullish(),
})
