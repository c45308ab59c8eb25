import type { Scope } from '../../server/access/scopes.ts'
import { scopeWords } from '../../server/words.ts'
import { Instant } from '../shell/instant.tsx'
import { activityStrings } from './strings.tsx'

type AuditEvent = {
  at: string
  action: string
  actorKind: string
  actorName: string
  address: string | null
  subjectName: string
  outcome: string
  detail: Record<string, unknown>
}

/** One event of the audit log: who did what, when and from where. */
export function AuditEntry({ event }: { event: AuditEvent }) {
  const { at, action, actorKind, actorName, address, subjectName, outcome, detail } = event
  const actor = activityStrings.actor(actorKind, <span className="font-medium">{actorName}</span>)
  const subject = <span className="font-medium">{subjectName}</span>
  const sentence = activityStrings.event(action, actor, subject, detail.reason)
  const instant = <Instant at={at} form="exact" />
  return (
    <>
      <p className="break-words">{outcome === 'ok' ? sentence : activityStrings.withOutcome(sentence, outcome)}</p>
      <p className="mt-0.5 text-sm text-muted">
        {address ? activityStrings.fromAddress(instant, address) : instant}
        {detailsOf(subjectName, detail)
          .map((part) => ` · ${part}`)
          .join('')}
      </p>
    </>
  )
}

// What else the audit log has about an event, without what only matters to machines.
function detailsOf(subjectName: string, detail: Record<string, unknown>): string[] {
  const {
    scopes,
    channelIds,
    formerName,
    formerUrl,
    redirectUris,
    formerRedirectUris,
    picture,
    overlap,
    unsent,
    posts,
    reason,
  } = detail
  const words = activityStrings.detail
  return [
    ...(Array.isArray(scopes) ? scopes.map((scope) => scopeWords[scope as Scope] ?? scope) : []),
    channelIds === 'all' ? words.allChannels : '',
    Array.isArray(channelIds) ? words.channels(channelIds.length) : '',
    typeof formerName === 'string' && formerName !== subjectName ? words.formerName(formerName) : '',
    typeof formerUrl === 'string' ? words.formerUrl(formerUrl) : '',
    ...redirectUrls(redirectUris, formerRedirectUris),
    typeof picture === 'string' ? words.picture(picture) : '',
    overlap === true ? words.overlap : '',
    ...unsentPosts(unsent, posts),
    typeof reason === 'string' ? words.reason(reason) : '',
  ].filter(Boolean)
}

// Where an app's codes go, and where they went before.
function redirectUrls(urls: unknown, former: unknown): string[] {
  if (!Array.isArray(urls) || !Array.isArray(former) || urls.join(' ') === former.join(' ')) return []
  return [activityStrings.detail.redirectUrls(urls), activityStrings.detail.formerRedirectUrls(former)]
}

// What happened to the unsent posts of a channel that somebody disconnected.
function unsentPosts(unsent: unknown, posts: unknown): string[] {
  if (typeof posts !== 'number' || posts === 0) return []
  const { cancelled, held } = activityStrings.detail
  return [unsent === 'cancel' ? cancelled(posts) : held(posts)]
}
