import { randomUUID } from 'node:crypto'
import { type Received, type Scripted, scripted } from './scripted.ts'

type Status = {
  id: string
  created_at: string
  content: string
  text?: string
  url: string
  reblog: unknown
  media_attachments: unknown[]
}

export type FakeMastodon = Scripted & {
  code: string // what the consent page hands over
  token: string
  accountId: string
  statuses: Status[] // oldest first
  descriptions: string[] // of the media, as they came
  /** Put a status there as if it had come some other way. */
  show: (status: Partial<Status>) => Status
}

/** As much of Mastodon's API as we call; it ignores Idempotency-Key, as most servers do. */
export async function fakeMastodon({ pkce = true, v2 = true, pollsOfMedia = 0 } = {}): Promise<FakeMastodon> {
  const token = randomUUID()
  const accountId = '11'
  const statuses: Status[] = []
  const descriptions: string[] = []
  const code = randomUUID()
  let polls = 0

  const signedIn = (handler: (request: Received) => { status?: number; body: unknown }) => (request: Received) =>
    request.headers.authorization === `Bearer ${token}`
      ? handler(request)
      : { status: 401, body: { error: 'The access token is invalid' } }
  const upload = signedIn(({ body }) => {
    descriptions.push(/name="description"\r\n\r\n([^\r]*)/.exec(`${body}`)?.[1] ?? '')
    return { status: pollsOfMedia > 0 ? 202 : 200, body: { id: `m${descriptions.length}`, type: 'image', url: null } }
  })
  const show = (status: Partial<Status>) => {
    const id = String(1000 + statuses.length)
    const made = { created_at: new Date().toISOString(), content: '', reblog: null, media_attachments: [], ...status }
    const shown = { url: `${server.url}/@ada/${id}`, ...made, id }
    statuses.push(shown)
    return shown
  }

  const server = await scripted({
    'POST /api/v1/apps': () => ({ body: { client_id: 'client', client_secret: 'secret' } }),
    'GET /.well-known/oauth-authorization-server': () =>
      pkce ? { body: { code_challenge_methods_supported: ['S256'] } } : { status: 404 },
    'POST /oauth/token': ({ body }) => {
      const form = new URLSearchParams(`${body}`)
      const good =
        form.get('code') === code && form.get('client_secret') === 'secret' && form.has('code_verifier') === pkce
      return good
        ? { body: { access_token: token, token_type: 'Bearer' } }
        : { status: 400, body: { error: 'invalid_grant', error_description: 'The code is not good.' } }
    },
    'GET /api/v1/accounts/verify_credentials': signedIn(() => ({
      body: {
        id: accountId,
        username: 'ada',
        display_name: 'Ada L.',
        url: 'https://x.test/@ada',
        avatar: 'https://x.test/a.png',
      },
    })),
    'GET /api/v2/instance': () =>
      v2 ? { body: { configuration: { statuses: { max_characters: 700 } } } } : { status: 404 },
    'GET /api/v1/instance': () => ({ body: { max_toot_chars: 900 } }),
    ...(v2 ? { 'POST /api/v2/media': upload } : {}),
    'POST /api/v1/media': upload,
    'GET /api/v1/media/*': signedIn(() => ({ status: ++polls < pollsOfMedia ? 206 : 200, body: { id: 'm1' } })),
    'POST /api/v1/statuses': signedIn((request) => {
      const { status, media_ids } = request.json() as { status: string; media_ids: string[] }
      return { body: show({ content: htmlOf(status), media_attachments: media_ids }) }
    }),
    [`GET /api/v1/accounts/${accountId}/statuses`]: signedIn(({ query }) => {
      const before = statuses.filter(({ id }) => Number(id) < Number(query.get('max_id') ?? Number.POSITIVE_INFINITY))
      return { body: before.reverse().slice(0, Number(query.get('limit') ?? 20)) }
    }),
  })
  return Object.assign(server, { token, accountId, statuses, descriptions, show, code })
}

/** As Mastodon 4.3 writes it: links cut in three, mentions and hashtags as links. */
function htmlOf(text: string): string {
  const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
  const linked = escaped
    .replace(
      /(https?:\/\/)(\S{1,30})(\S*)/g,
      '<a href="$&" target="_blank" rel="nofollow noopener"><span class="invisible">$1</span><span class="ellipsis">$2</span><span class="invisible">$3</span></a>',
    )
    .replace(
      /(?<!\w)@(\w+)@([\w.]+)/g,
      '<span class="h-card"><a href="https://$2/@$1" class="u-url mention">@<span>$1</span></a></span>',
    )
    .replace(
      /(?<![\w&/])#(\w+)/g,
      '<a href="https://x.test/tags/$1" class="mention hashtag" rel="tag">#<span>$1</span></a>',
    )
  return linked
    .split('\n\n')
    .map((paragraph) => `<p>${paragraph.replace(/\n/g, '<br />')}</p>`)
    .join('')
}
