import MarkdownIt from 'markdown-it'
import { type Received, type Scripted, scripted } from '../scripted-server.ts'
import { type FakeOAuth, fakeOAuth, type OAuthWays } from './oauth.fake.ts'

type Status = {
  id: string
  created_at: string
  content: string
  text?: string
  url: string
  reblog: unknown
  media_attachments: unknown[]
}

// Hollo's format: its error is not a sentence.
const emptyText = {
  status: 400,
  body: {
    success: false,
    error: { name: 'ZodError', issues: [{ code: 'too_small', path: ['status'], message: 'The text is empty.' }] },
  },
}

type Routes = Parameters<typeof scripted>[0]

const accountId = '11'

export type FakeMastodon = Scripted &
  FakeOAuth & {
    accountId: string
    statuses: Status[] // in the order they came
    aheadMs: number // of its clock; ids and dates follow it
    descriptions: string[] // of the media, in the order they came
    /** Adds a status as if it had come some other way. */
    show: (status: Partial<Status>) => Status
  }

/**
 * The part of Mastodon's API that we call. It ignores Idempotency-Key, as most servers do. `like` Hollo: it renders
 * Markdown and gives no source. `givesSource`: at the status's own address.
 */
export async function fakeMastodon({
  v2 = true,
  pollsOfMedia = 0,
  like = 'mastodon' as 'mastodon' | 'hollo',
  givesSource = false,
  ...ways
}: Ways = {}): Promise<FakeMastodon> {
  const { routes: oauth, ...state } = fakeOAuth(ways, () => server.url)
  const statuses: Status[] = []
  const descriptions: string[] = []
  const sources = new Map<string, string>()
  const clock = { aheadMs: 0 }
  const now = () => new Date(Date.now() + clock.aheadMs)
  let polls = 0

  const signedIn = whoHas(state.tokens)
  const upload = signedIn(({ body }) => {
    descriptions.push(/name="description"\r\n\r\n([^\r]*)/.exec(`${body}`)?.[1] ?? '')
    return { status: pollsOfMedia > 0 ? 202 : 200, body: { id: `m${descriptions.length}`, type: 'image', url: null } }
  })
  const show = (status: Partial<Status>) => {
    const made = { created_at: now().toISOString(), content: '', reblog: null, media_attachments: [], ...status }
    const id = String(Date.parse(made.created_at) * 1000 + (statuses.length % 1000)) // from its clock, like a snowflake
    const shown = { url: `${server.url}/@ada/${id}`, ...made, id }
    statuses.push(shown)
    return shown
  }

  const routes: Routes = {
    ...oauth,
    ...toConnect(signedIn, v2),
    ...(v2 ? { 'POST /api/v2/media': upload } : {}),
    'POST /api/v1/media': upload,
    'GET /api/v1/media/*': signedIn(() => ({ status: ++polls < pollsOfMedia ? 206 : 200, body: { id: 'm1' } })),
    'POST /api/v1/statuses': signedIn((request) => {
      const { status: text, media_ids } = request.json() as { status?: string; media_ids: string[] }
      if (text === '' && like === 'hollo') return emptyText
      const status = text ?? ''
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
  return Object.assign(clock, server, state, { accountId, statuses, descriptions, show })
}

type Ways = OAuthWays & { v2?: boolean; pollsOfMedia?: number; like?: 'mastodon' | 'hollo'; givesSource?: boolean }

type Handler = (request: Received) => { status?: number; body: unknown }

function whoHas(tokens: Set<string>) {
  return (handler: Handler) => (request: Received) =>
    tokens.has(request.headers.authorization?.slice('Bearer '.length) ?? '')
      ? handler(request)
      : { status: 401, body: { error: 'The access token is invalid' } }
}

/** What we read about a connected account. `v2`: this server is new enough to have that version. */
function toConnect(signedIn: ReturnType<typeof whoHas>, v2: boolean): Routes {
  return {
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
  }
}

const markdown = new MarkdownIt({ linkify: true })

/** In the format of Mastodon 4.3: links cut in three, mentions and hashtags as links. */
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
