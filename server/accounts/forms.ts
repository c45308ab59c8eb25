import { z } from 'zod'
import { scopes } from '../access/scopes.ts'
import { Id, Instant, line, text } from '../forms.ts'

const Email = z.string().trim().max(254).pipe(z.email('Must be an e-mail address.'))
const Password = text(200).min(10, 'At least 10 characters.')
const TimeZone = z.string().refine(isTimeZone, 'Must be a time zone such as Europe/Berlin.')

function isTimeZone(value: string): boolean {
  try {
    // A bare offset is taken as well, but knows nothing of summer.
    return /^[a-z]/i.test(new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone)
  } catch {
    return false
  }
}

export const SignUp = z.strictObject({
  name: line(100),
  email: Email,
  password: Password,
  organisation: line(100),
  timeZone: TimeZone.optional(),
})
/** `organisationId`: of a page that goes on after its session ended. The new session begins in it if the person is a member. */
export const SignIn = z.strictObject({
  email: Email,
  password: text(200).min(1, 'Required.'),
  organisationId: Id.optional(),
})
export const UpdateAccount = z.strictObject({
  name: line(100),
  email: Email,
  timeZone: TimeZone,
  password: text(200).optional(),
})
export const ChangePassword = z.strictObject({ current: text(200).min(1, 'Required.'), password: Password })

export const NewKey = z.strictObject({
  name: line(100),
  scopes: z.array(z.enum(scopes)).min(1, 'Choose at least one scope.').optional(),
  expiresAt: Instant.nullish(),
})
