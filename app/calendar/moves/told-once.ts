import { createCookie } from '@remix-run/node'
import { z } from 'zod'
import { Id } from '../../../server/forms.ts'
import type { Member } from '../../api.ts'
import type { Moved } from './move.ts'

// The page after a form says what was moved, once. A cookie tells it: an address would say it again after a reload, and to
// everyone it is shared with.

const SecondsToRead = 60

type Reader = { member: Pick<Member, 'organisationId'>; appUrl: string }

/** The header that tells the next page of a move in this organisation. */
export async function telling(moved: Moved, { member, appUrl }: Reader): Promise<Record<string, string>> {
  const told = { ...moved, organisationId: member.organisationId }
  return { 'Set-Cookie': await cookieOf(appUrl, SecondsToRead).serialize(JSON.stringify(told)) }
}

/** The move that this page tells, and the header that keeps later ones from telling it. */
export async function toldIn(
  request: Request,
  { member, appUrl }: Reader,
): Promise<{ moved: Moved | null; headers: Record<string, string> }> {
  const cookie = cookieOf(appUrl, 0)
  const written: unknown = await cookie.parse(request.headers.get('cookie'))
  if (typeof written !== 'string') return { moved: null, headers: {} }
  const told = readable(written)
  const moved = told?.organisationId === member.organisationId ? told : null
  return { moved, headers: { 'Set-Cookie': await cookie.serialize('') } }
}

function cookieOf(appUrl: string, maxAge: number) {
  const secure = appUrl.startsWith('https:')
  return createCookie('calendar-moved', { path: '/calendar', httpOnly: true, sameSite: 'lax', secure, maxAge })
}

const At = z.iso.datetime()
const Told = z.strictObject({
  how: z.enum(['there', 'later', 'back', 'same']),
  by: z.enum(['drag', 'form']),
  at: At,
  queueId: Id.nullable(),
  isQueued: z.boolean(),
  before: z.strictObject({ id: Id, version: z.number(), at: At, queueId: Id.nullable() }).nullable(),
  organisationId: Id,
}) satisfies z.ZodType<Moved>

// Someone may have written into their own cookie.
function readable(written: string): z.output<typeof Told> | null {
  try {
    return Told.parse(JSON.parse(written))
  } catch {
    return null
  }
}
