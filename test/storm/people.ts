import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { isDatabaseAway } from '../../db/client.ts'
import { Failure } from '../../server/errors.ts'
import type { Api } from '../../server/router.ts'
import type { Shown } from '../stand-ins/fake-network.ts'
import type { Chance } from './chance.ts'

/** A text that was asked for, and when it was to go out. `since`: when a person was told that it stands; null: nobody was. */
export type Version = { dueMs: number; since: number | null; isRefused: boolean }

/** A post as people know it. Its texts are `p<number> v<version>`, so that what the network gets says which it is. */
export type Post = {
  no: number
  org: number
  id: string | null
  channelIds: string[]
  isPoison: boolean
  versions: Version[]
  cancelledAt: number | null
  isBusy: boolean // somebody changes it: one after the other, so that the last one is known
}

export type Org = { api: Api; organisationId: string; channels: { id: string; network: string }[] }

/** What people know that neither network nor ledger do. `askedAgain`: how often they had a delivery sent again, by post and channel. */
export type Told = {
  posts: Post[]
  askedAgain: Map<string, number>
  deeds: Map<string, number>
  refused: number
  failed: string[]
}

export const newTold = (): Told => ({ posts: [], askedAgain: new Map(), deeds: new Map(), refused: 0, failed: [] })

type Scene = { db: Db; orgs: Org[]; chance: Chance; told: Told; shown: () => Shown[] }

const deeds = { create: 50, edit: 14, cancel: 6, retry: 6, resolve: 12, disconnect: 1, reconnect: 6 }

/** One deed of one person, whatever comes of it. */
export async function act(scene: Scene): Promise<void> {
  const { chance, told } = scene
  const deed = chance.weighted(deeds)
  const done = await attempt(scene, () => doers[deed](scene))
  if (done) told.deeds.set(deed, (told.deeds.get(deed) ?? 0) + 1)
}

/** True: done. False: refused. Null: nobody knows. Anything else that fails is noted, for nothing else may. */
async function attempt({ told }: Scene, run: () => Promise<unknown>): Promise<boolean | null> {
  try {
    return (await run()) !== false
  } catch (error) {
    const failure = error instanceof Failure ? error : (error as Error).cause
    if (failure instanceof Failure && failure.code !== 'SERVICE_UNAVAILABLE') {
      told.refused++
      return false
    }
    if (!(failure instanceof Failure) && !isDatabaseAway(error)) told.failed.push(String((error as Error).stack))
    return null
  }
}

const doers: Record<keyof typeof deeds, (scene: Scene) => Promise<unknown>> = {
  async create({ chance, orgs, told }) {
    const org = chance.of(orgs)
    const channelIds = [
      ...new Set([chance.of(org.channels).id, ...(chance.oneIn(3) ? [chance.of(org.channels).id] : [])]),
    ]
    const dueMs = Date.now() + chance.between(100, 3000)
    const no = told.posts.length
    const post: Post = {
      no,
      org: orgs.indexOf(org),
      id: null,
      channelIds,
      isPoison: chance.oneIn(400),
      versions: [{ dueMs, since: null, isRefused: false }],
      cancelledAt: null,
      isBusy: false,
    }
    told.posts.push(post)
    const made = await org.api.posts.create({
      type: 'schedule',
      date: new Date(dueMs).toISOString(),
      content: textOf(post),
      channelIds,
    })
    post.id = made.id
    post.versions[0]!.since = Date.now()
  },
  edit: (scene) =>
    change(scene, async (post) => {
      const later = scene.chance.oneIn(2) ? Date.now() + scene.chance.between(100, 2000) : null
      const dueMs = later ?? Math.min(...post.versions.map((one) => one.dueMs))
      const version: Version = { dueMs, since: null, isRefused: false }
      post.versions.push(version)
      const date = later === null ? {} : { date: new Date(later).toISOString() }
      const asked = { id: post.id!, content: textOf(post), ...date }
      const done = await attempt(scene, () => scene.orgs[post.org]!.api.posts.update(asked))
      version.isRefused = done === false
      if (done) version.since = Date.now()
      return done
    }),
  cancel: (scene) =>
    change(scene, async (post) => {
      const done = await attempt(scene, () => scene.orgs[post.org]!.api.posts.cancel({ id: post.id! }))
      if (done) post.cancelledAt = Date.now()
      return done
    }),
  retry: (scene) =>
    forOne(scene, 'failed', async ({ api }, { postId, key }) => {
      ask(scene.told, key)
      await api.posts.retry({ id: postId })
    }),
  resolve: (scene) => forOne(scene, 'needs_review', (org, row) => resolve(scene, org, row)),
  async disconnect({ chance, orgs }) {
    const { api, channels } = chance.of(orgs)
    await api.channels.disconnect({ id: chance.of(channels).id, unsent: 'hold' })
  },
  async reconnect({ db, orgs }) {
    const rows = await db.execute<{ id: string }>(sql`select id from channels where status <> 'active' limit 1`)
    for (const { id } of rows) await reconnect(orgs, id)
    return rows.length > 0
  },
}

async function reconnect(orgs: Org[], id: string): Promise<void> {
  for (const { api, organisationId, channels } of orgs) {
    const channel = channels.find((one) => one.id === id)
    const input = { account: id, token: `good of ${organisationId}` }
    if (channel) await api.channels.connect({ network: channel.network, channelId: id, input })
  }
}

type Row = { postId: string; channelId: string; key: string; organisationId: string; isSettled: boolean }

async function forOne(scene: Scene, state: string, run: (org: Org, row: Row) => Promise<unknown>): Promise<unknown> {
  const rows = await scene.db.execute<Row>(sql`
    select d.post_id as "postId", d.channel_id as "channelId", d.publish_key as key, d.organisation_id as "organisationId",
      coalesce((select max(a.intended_at) < now() - interval '6 seconds' from attempts a where a.delivery_id = d.id), true) as "isSettled"
    from deliveries d where d.state = ${state} order by d.id limit 20`)
  const row = rows.length > 0 ? scene.chance.of([...rows]) : null
  const org = row && scene.orgs.find(({ organisationId }) => organisationId === row.organisationId)
  return org ? run(org, row) : false
}

// They look at the account itself, when what was under way is over, and tell the truth.
async function resolve(
  { told, shown, chance }: Scene,
  { api }: Org,
  { postId, channelId, key, isSettled }: Row,
): Promise<unknown> {
  if (!isSettled) return false
  const isThere = shown().some((post) => post.key === key)
  const outcome = isThere ? 'published' : chance.oneIn(4) ? 'cancelled' : 'not_published'
  if (outcome === 'not_published') ask(told, key)
  return api.posts.resolve({ id: postId, channelId, outcome })
}

function ask({ askedAgain }: Told, key: string): void {
  askedAgain.set(key, (askedAgain.get(key) ?? 0) + 1)
}

async function change({ chance, told }: Scene, run: (post: Post) => Promise<boolean | null>): Promise<boolean> {
  const open = told.posts.slice(-60).filter((one) => one.id !== null && one.cancelledAt === null && !one.isBusy)
  if (open.length === 0) return false
  const post = chance.of(open)
  post.isBusy = true
  const done = await run(post)
  post.isBusy = false
  return done === true
}

function textOf({ no, versions, isPoison }: Post): string {
  return `p${no} v${versions.length - 1}${isPoison ? ' poison' : ''}`
}

/** Put everything right that waits for a person. Returns how much there was. */
export async function putRight(scene: Scene): Promise<number> {
  const broken = await scene.db.execute<{ id: string }>(sql`select id from channels where status <> 'active'`)
  for (const { id } of broken) await reconnect(scene.orgs, id)
  const waiting = await scene.db.execute<{ count: number }>(
    sql`select count(*)::int as count from deliveries where state = 'needs_review'`,
  )
  for (let i = 0; i < 20; i++) await attempt(scene, () => doers.resolve(scene))
  return broken.length + waiting[0]!.count
}
