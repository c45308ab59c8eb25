import { hashPassword } from '../../server/access/secrets.ts'
import { createAccount, createOrganisation } from '../../server/accounts/account.ts'
import { createKey } from '../../server/accounts/api-keys.ts'
import { fillOrganisation } from '../postgres/many-posts.ts'
import { type Figure, quantile } from './figures.ts'
import type { Settings } from './run.ts'
import { openSite, type Site, type Stage, startWeb } from './stage.ts'

const Channels = 50
const WarmUps = 10 // until PostgreSQL has settled on its plans
const Calls = 30

/** Part g: how long the lists of an organisation with 100,000 posts take, one call at a time; medians of a run. */
export async function lists(stage: Stage, { runs, listed, say }: Settings): Promise<Figure[]> {
  await using site = await openSite(stage)
  const { organisationId, headers } = await signedIn(site)
  const { channelIds } = await fillOrganisation(site.db, { organisationId, count: listed, channelCount: Channels })
  const web = await startWeb(site)
  const figures: Figure[] = []
  try {
    const cookie = await cookieOf(site)
    for (const { path, atMost } of whatIsAsked(channelIds[0]!)) {
      const figure: Figure = {
        part: 'g',
        name: path.replace('/public/v1', 'GET ').replace(/[\da-f-]{36}|\d{4}-.*Z/, '…'),
        unit: 'ms',
        runs: [],
      }
      for (let run = 1; run <= runs; run++)
        figure.runs.push(await medianMs(`${site.appUrl}${path}`, path.startsWith('/public') ? headers : { cookie }))
      figures.push({ ...figure, goal: { of: 'figure', atMost } })
      say(`g: ${figure.name}: ${figure.runs.map((ms) => ms.toFixed(1)).join(', ')} ms`)
    }
  } finally {
    await web.stop()
  }
  return figures
}

function whatIsAsked(channelId: string): { path: string; atMost: number }[] {
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
  const queries = [
    ...[
      '',
      'order=asc',
      'status=FAILED',
      'status=PUBLISHED',
      'status=PUBLISHING',
      'status=FAILED,HELD,NEEDS_REVIEW,PARTIALLY_PUBLISHED',
    ],
    ...[
      `channelId=${channelId}`,
      `channelId=${channelId}&status=FAILED`,
      `from=${hourAgo}`,
      `updatedSince=${hourAgo}`,
      'sort=updatedAt',
    ],
  ]
  const apis = queries.map((query) => ({ path: `/public/v1/posts?${query}`, atMost: 50 }))
  return [{ path: '/', atMost: 100 }, { path: '/?status=failed', atMost: 100 }, ...apis]
}

const Email = 'bench@example.org'
const Password = 'a long enough password'

async function signedIn({ db }: Site): Promise<{ organisationId: string; headers: Record<string, string> }> {
  const createdBy = await createAccount(db, { name: 'Ada', email: Email, passwordHash: await hashPassword(Password) })
  const organisationId = await createOrganisation(db, 'Bench', createdBy)
  const { key } = await createKey(db, { organisationId, createdBy, name: 'bench', expiresAt: null })
  return { organisationId, headers: { authorization: key } }
}

async function cookieOf({ appUrl }: Site): Promise<string> {
  const body = new URLSearchParams({ email: Email, password: Password })
  const answer = await fetch(`${appUrl}/login`, {
    method: 'POST',
    body,
    headers: { origin: appUrl },
    redirect: 'manual',
  })
  if (answer.status !== 302) throw new Error(`Signing in answered ${answer.status}.`)
  return answer.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
}

async function medianMs(url: string, headers: Record<string, string>): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < WarmUps + Calls; call++) {
    const begun = performance.now()
    const answer = await fetch(url, { headers })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}.`)
    if (call >= WarmUps) times.push(performance.now() - begun)
  }
  return quantile(times, 0.5)
}
