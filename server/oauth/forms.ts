import { z } from 'zod'
import { Id, line, text } from '../forms.ts'
import { isListedOnce, isRedirectUri, RedirectUrisAtMost, redirectUriFaults } from './redirect-uri.ts'

// The inputs of the procedures of apps and of consents to them.

const AppName = line(100)
const AppDescription = text(500).trim()

/** A redirect URI: https, or http to a loopback address; no fragment, user info or wildcard. */
export const RedirectUri = z.string().max(2000).refine(isRedirectUri, redirectUriFaults.form)
const RedirectUris = z
  .array(RedirectUri)
  .min(1, 'Enter at least one redirect URL.')
  .max(RedirectUrisAtMost, redirectUriFaults.tooMany)
  .refine(isListedOnce, redirectUriFaults.twice)

export const CreateApp = z.strictObject({
  name: AppName,
  description: AppDescription.default(''),
  redirectUris: RedirectUris,
})
export const UpdateApp = CreateApp.extend({ id: Id })
export const RotateSecret = z.strictObject({ id: Id, overlap: z.boolean().default(false) })
export const DeleteApp = z.strictObject({ id: Id, name: z.string() }) // its name typed, so that nobody deletes it by mistake
export const SetAppPicture = z.strictObject({ id: Id, path: z.string() })

/** The raw query of an authorization request, without its `?`. */
export const AuthorizeQuery = z.strictObject({ query: z.string().max(20_000), isOnlyLook: z.boolean().default(false) })
export const DecideRequest = z.strictObject({
  request: z.string().max(100),
  decision: z.enum(['approve', 'deny']),
  organisationId: Id.optional(),
  // Absent: all, those connected later included.
  channelIds: z
    .array(Id)
    .min(1, 'Choose at least one channel.')
    .max(1000)
    .refine((ids) => new Set(ids).size === ids.length, 'The same channel is listed twice.')
    .optional(),
})
