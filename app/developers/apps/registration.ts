import { z } from 'zod'
import { CreateApp, RotateSecret, UpdateApp } from '../../../server/oauth/forms.ts'
import { linesOf } from './redirect-urls.ts'
import { appStrings } from './strings.tsx'

const RedirectUris = CreateApp.shape.redirectUris

// The faults of redirect URLs, one URL a line. Each fault names its line.
function redirectFaults(text: string): string[] {
  const lines = linesOf(text)
  const checked = RedirectUris.safeParse(lines)
  return (checked.error?.issues ?? []).map(({ path, message }) =>
    typeof path[0] === 'number' ? `${lines[path[0]]}: ${message}` : message,
  )
}

const typed = {
  picture: z.string().optional(), // the file's name; the file itself comes in the load context's `upload`
  redirectUris: z
    .string()
    .default('')
    .superRefine((text, { addIssue }) => {
      for (const message of redirectFaults(text)) addIssue({ code: 'custom', message })
    })
    .transform(linesOf),
}

/** The forms that make an app and change one, as a person fills them in. */
export const NewApp = CreateApp.extend(typed)
export const ChangedApp = UpdateApp.extend(typed)

/** The form that rotates a secret. The choice is required, so one press cannot end the secret of a running app. */
export const RotatedSecret = RotateSecret.extend({
  overlap: z.enum(['yes', 'no'], appStrings.credentials.overlapMissing).transform((word) => word === 'yes'),
})
