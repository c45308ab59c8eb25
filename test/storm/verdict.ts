import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { checkInvariants } from '../../jobs/ledger/invariants.ts'
import type { Received, Shown } from '../stand-ins/fake-network.ts'
import type { Fate } from './network.ts'
import type { Post, Told } from './people.ts'

// The invariants of docs/faults.md after a storm: from what people were told, what the network saw and what the ledger says.

type Row = {
  id: string
  key: string
  organisationId: string
  channelId: string
  state: string
  evidence: string | null
  remoteId: string | null
  text: string
  isAlone: boolean // the only delivery of its post
}
type Seen = { received: Received[]; posts: Shown[]; fates: Map<Received, Fate> }

export const ClockMs = 5 // the database's clock and ours are read by different programs

/** What is broken, in words; nothing when all holds. */
export async function verdict(db: Db, told: Told, seen: Seen): Promise<string[]> {
  const rows = await db.execute<Row>(sql`
    select d.id, d.publish_key as key, d.organisation_id as "organisationId", d.channel_id as "channelId", d.state, d.evidence,
      d.remote_id as "remoteId", coalesce(d.content, p.content) as text,
      not exists (select from deliveries o where o.post_id = d.post_id and o.id <> d.id) as "isAlone"
    from deliveries d join posts p on p.id = d.post_id order by d.id`)
  const ledger = (await checkInvariants(db)).filter(({ broken }) => broken > 0)
  const byKey = Map.groupBy(seen.received, ({ key }) => key)
  return [
    ...[...rows].flatMap((row) => ofDelivery(row, told, seen, byKey.get(row.key) ?? [])),
    ...seen.received.flatMap((one) => ofSend(one, told.posts)),
    ...ledger.map(({ name, ids }) => `the ledger: not so that ${name}: ${ids.join(', ')}`),
    ...told.failed.map((error) => `a deed failed in a way that none may: ${error}`),
  ]
}

function ofDelivery(row: Row, { posts, askedAgain }: Told, { posts: shown, fates }: Seen, sends: Received[]): string[] {
  const { id, key, state, evidence, remoteId, text, isAlone } = row
  const there = shown.filter((one) => one.key === key)
  const asked = askedAgain.get(key) ?? 0
  const maybe = sends.filter((one) => !fates.get(one)!.isDenied)
  const kind = sends[0]?.kind
  const stranger = sends.find(({ token }) => !token.endsWith(row.organisationId))
  const old = there.find((one) => versionOf(one, posts).isOvertaken)
  return [
    ...(['published', 'failed', 'cancelled'].includes(state) ? [] : [`I1 ${state} at the end: ${id}`]),
    ...(there.length > 1 + asked
      ? [`I2 ${there.length} posts are there, asked again ${asked} times: ${kind} ${id}`]
      : []),
    ...(kind === 'blind' && maybe.length > 1 + asked
      ? [`I2 sent ${maybe.length} times blindly, asked again ${asked} times: ${id}`]
      : []),
    ...(kind === 'keyed' && asked === 0 && new Set(maybe.map(({ text }) => text)).size > 1
      ? [`I2 other bytes under one key: ${id}`]
      : []),
    ...(old && isAlone && asked === 0 ? [`I3 ${old.text} is there, though an edit of it succeeded: ${id}`] : []),
    // An edit of a partly published post leaves what is out: the ledger then keeps that text for this channel.
    ...(old && old.text !== text && asked === 0 ? [`I3 ${old.text} is there, and the ledger has ${text}: ${id}`] : []),
    ...(state !== 'published' && asked === 0 && there.length > 0 ? [`I6 called ${state} and is there: ${id}`] : []),
    ...((evidence === 'answered' || evidence === 'found') && !there.some((one) => one.id === remoteId)
      ? [`I6 ${evidence} and not there: ${id}`]
      : []),
    ...(stranger || sends.some(({ account }) => account !== row.channelId)
      ? [`I7 sent with what belongs to another: ${id}`]
      : []),
  ]
}

function ofSend(one: Received, posts: Post[]): string[] {
  const { post, version, later } = versionOf(one, posts)
  const overtaking = later.find(({ since }) => since !== null && since < one.at)
  return [
    ...(one.at + ClockMs < version.dueMs ? [`I3 ${one.text} was sent ${version.dueMs - one.at} ms early`] : []),
    ...(overtaking ? [`I3 ${one.text} was sent ${one.at - overtaking.since!} ms after its edit succeeded`] : []),
    ...(version.isRefused ? [`I3 ${one.text} was sent though that edit was refused`] : []),
    ...(post.isPoison ? [`${one.text} was sent, and kills whoever prepares it`] : []),
    ...(post.cancelledAt !== null && post.channelIds.length === 1 && post.cancelledAt < one.at
      ? [`I3 ${one.text} was sent after it was cancelled`]
      : []),
  ]
}

function versionOf({ text }: Received, posts: Post[]) {
  const [, no, v] = /^p(\d+) v(\d+)/.exec(text)!
  const post = posts[Number(no)]!
  const later = post.versions.slice(Number(v) + 1)
  return { post, version: post.versions[Number(v)]!, later, isOvertaken: later.some(({ since }) => since !== null) }
}
