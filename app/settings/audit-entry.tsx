import type { ReactNode } from 'react'
import type { Scope } from '../../server/access/scopes.ts'
import { scopeWords } from '../../server/words.ts'
import { Instant } from '../shell/instant.tsx'

type Entry = {
  at: string
  action: string
  actorKind: string
  actorName: string
  address: string | null
  subjectName: string
  outcome: string
  detail: Record<string, unknown>
}

const words: Record<string, (subject: ReactNode, reason: unknown) => ReactNode> = {
  'key.created': (key) => <>made the API key {key}</>,
  'key.revoked': (key) => <>revoked the API key {key}</>,
  'app.created': (app) => <>registered the app {app}</>,
  'app.updated': (app) => <>changed the app {app}</>,
  'app.secret_rotated': (app) => <>rotated the secret of {app}</>,
  'app.deleted': (app) => <>deleted the app {app}</>,
  'consent.approved': (app) => <>let {app} in</>,
  'consent.denied': (app) => <>denied {app}</>,
  'consent.revoked': (app) => <>stopped {app}</>,
  'webhook.created': (url) => <>added the webhook {url}</>,
  'webhook.updated': (url) => <>changed the webhook {url}</>,
  'webhook.switched_on': (url) => <>switched the webhook {url} on</>,
  'webhook.switched_off': (url) => <>switched the webhook {url} off</>,
  'webhook.secret_rotated': (url) => <>rotated the secret of the webhook {url}</>,
  'webhook.deleted': (url) => <>deleted the webhook {url}</>,
  'channel.paused': (channel) => <>paused the channel {channel}</>,
  'channel.resumed': (channel) => <>resumed the channel {channel}</>,
  'channel.access_ended': (channel) => <>ended its access to the account of {channel}</>,
  'channel.access_left': (channel) => <>could not end its access to the account of {channel}</>,
  'post.retried': (channel) => <>had a post sent again on {channel}</>,
  'organisation.suspended': (organisation) => <>suspended {organisation}</>,
  'organisation.unsuspended': (organisation) => <>ended the suspension of {organisation}</>,
  'token.issued': () => <>was given access</>,
  'token.revoked': (_app, reason) => (reason ? <>lost its access</> : <>gave its access back</>),
}

// Why we did it ourselves.
const reasons: Record<string, string> = { failing: 'it had failed for three days', gone: 'it answered 410 Gone' }

const actors: Record<string, string> = { app: 'the app', api_key: 'the key', operator: 'the operator' }

/** A line of the trail in words: who did what, when and from where. */
export function Deed({ deed }: { deed: Entry }) {
  const { at, action, actorKind, actorName, address, subjectName, outcome, detail } = deed
  const subject = <span className="font-medium">{subjectName}</span>
  const kind = actors[actorKind]
  return (
    <>
      <p className="break-words">
        {kind ? `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ` : ''}
        <span className="font-medium">{actorName}</span>{' '}
        {words[action]?.(subject, detail.reason) ?? (
          <>
            {action} {subject}
          </>
        )}
        {outcome === 'ok' ? '' : ` (${outcome})`}
      </p>
      <p className="mt-0.5 text-sm text-muted">
        <Instant at={at} form="exact" />
        {address ? ` from ${address}` : ''}
        {more(deed.subjectName, detail)
          .map((part) => ` · ${part}`)
          .join('')}
      </p>
    </>
  )
}

// What the trail keeps beside the deed, as far as a person wants to know it.
function more(subjectName: string, detail: Record<string, unknown>): string[] {
  const { formerUrl, scopes, channelIds, formerName, redirectUris, formerRedirectUris, picture, overlap, reason } =
    detail
  return [
    ...(Array.isArray(scopes) ? scopes.map((scope) => scopeWords[scope as Scope] ?? scope) : []),
    channelIds === 'all' ? 'all channels' : '',
    Array.isArray(channelIds) ? `${channelIds.length} ${channelIds.length === 1 ? 'channel' : 'channels'}` : '',
    typeof formerName === 'string' && formerName !== subjectName ? `called ${formerName} before` : '',
    typeof formerUrl === 'string' ? `before ${formerUrl}` : '',
    ...formerAddresses(redirectUris, formerRedirectUris),
    typeof picture === 'string' ? `picture ${picture}` : '',
    overlap === true ? 'the old one stays good for 24 hours' : '',
    typeof reason === 'string' ? (reasons[reason] ?? reason) : '',
  ].filter(Boolean)
}

// Where an app's answers went before: the change that matters most to who is let in.
function formerAddresses(uris: unknown, former: unknown): string[] {
  if (!Array.isArray(uris) || !Array.isArray(former) || uris.join(' ') === former.join(' ')) return []
  return [`redirect URLs ${uris.join(', ')}`, `before ${former.join(', ')}`]
}
