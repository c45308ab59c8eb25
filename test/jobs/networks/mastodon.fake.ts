import { randomUUID } from 'node:crypto'
import MarkdownIt from 'markdown-it'
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

type Routes = Parameters<typeof scripted>[0]

const accountId = '11'

export type FakeMastodon = Scripted & {
  code: string // what the consent page hands over
  token: string
  accountId: string
  statuses: Status[] // in the order in which they came
  aheadMs: number // of its clock; ids and instants are by it
  descriptions: string[] // of the media, as they came
  /** Put a status there as if it had come some other way. */
  show: (status: Partial<Status>) => Status
}

/**
 * As much of Mastodon's API as we call; it ignores Idempotency-Key, as most servers do.
 * `like` Hollo: it renders Markdown and gives no source. `givesSource`: at the status's own address.
 */
export async function fakeMastodon({
  pkce = true,
  v2 = true,
  pollsOfMedia = 0,
  like = 'mastodon' as 'mastodon' | 'hollo',
  givesSource = false,
} = {}): Promise<FakeMastodon> {
  const token = randomUUID()
  const statuses: Status[] = []
  const descriptions: string[] = []
  const sources = new Map<string, string>()
  const code = randomUUID()
  const clock = { aheadMs: 0 }
  const now = () => new Date(Date.now() + clock.aheadMs)
  let polls = 0

  const signedIn = whoHas(token)
  const upload = signedIn(({ body }) => {
    descriptions.push(/name="description"\r\n\r\n([^\r]*)/.exec(`${body}`)?.[1] ?? '')
    return { status: pollsOfMedia > 0 ? 202 : 200, body: { id: `m${descriptions.length}`, type: 'image', url: null } }
  })
  const show = (status: Partial<Status>) => {
    const made = { created_at: now().toISOString(), content: '', reblog: null, media_attachments: [], ...status }
    const id = String(Date.parse(made.created_at) * 1000 + (statuses.length % 1000)) // by its clock, as a snowflake is
    const shown = { url: `${server.url}/@ada/${id}`, ...made, id }
    statuses.push(shown)
    return shown
  }

  const routes: Routes = {
    ...toConnect({ code, token, pkce, v2 }),
    ...(v2 ? { 'POST /api/v2/media': upload } : {}),
    'POST /api/v1/media': upload,
    'GET /api/v1/media/*': signedIn(() => ({ status: ++polls < pollsOfMedia ? 206 : 200, body: { id: 'm1' } })),
    'POST /api/v1/statuses': signedIn((request) => {
      const { status, media_ids } = request.json() as { status: string; media_ids: string[] }
      const shown = show({
        content: like === 'hollo' ? markdown.render(status) : htmlOf(status),
        media_attachments: media_ids,
      })
      sources.set(shown.id, status)
      return { body: shown }
    }),
    'GET /api/v1/statuses/*': signedIn(({ route }) => {
      const id = route.split('/').at(-2) ?? ''
      const text = sources.get(id)
      if (!givesSource || !route.endsWith('/source') || text === undefined) return { status: 404, body: {} }
      return { body: { id, text, spoiler_text: '' } }
    }),
    [`GET /api/v1/accounts/${accountId}/statuses`]: signedIn(({ query }) => {
      const before = statuses.filter(({ id }) => Number(id) < Number(query.get('max_id') ?? Number.POSITIVE_INFINITY))
      const newestFirst = before.sort((a, b) => Number(b.id) - Number(a.id))
      return { body: newestFirst.slice(0, Number(query.get('limit') ?? 20)) }
    }),
  }
  const server = await scripted(routes, now)
  return Object.assign(clock, server, { token, accountId, statuses, descriptions, show, code })
}

function whoHas(token: string) {
  return (handler: (request: Received) => { status?: number; body: unknown }) => (request: Received) =>
    request.headers.authorization === `Bearer ${token}`
      ? handler(request)
      : { status: 401, body: { error: 'The access token is invalid' } }
}

/** What is asked while an account is connected. `pkce` and `v2`: whether this server is new enough to have them. */
function toConnect({ code, token, pkce, v2 }: { code: string; token: string; pkce: boolean; v2: boolean }): Routes {
  return {
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
    'GET /api/v1/accounts/verify_credentials': whoHas(token)(() => ({
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
  }
}

const markdown = new MarkdownIt({ linkify: true })

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
