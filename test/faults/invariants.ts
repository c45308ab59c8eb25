import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { checkInvariants } from '../../jobs/ledger/invariants.ts'
import type { Received } from '../stand-ins/fake-network.ts'
import type { World } from '../world.ts'

// Checks the invariants of docs/faults.md against the record of the fake network and the database.

type Row = {
  id: string
  key: string
  channelId: string
  organisationId: string
  state: string
  text: string
  due: number
  attemptNo: number
  maybeOut: boolean
  evidence: string | null
  remoteId: string | null
  isLost: boolean
}

type Fact = { broken: string; of: string }

const ClockMs = 2 // different programs read the database's clock and ours

/** Throws a list of the broken invariants of I1 to I7. `lostAfterMs`: 60 s at the times of production; the default is
 * a tenth. */
export async function assertInvariants(world: World, { lostAfterMs = 6_000 } = {}): Promise<void> {
  const broken = await brokenIn(world, lostAfterMs)
  if (broken.length > 0) throw new Error(broken.map(({ broken, of }) => `${broken}: ${of}`).join('\n'))
}

async function brokenIn({ db, fake }: World, lostAfterMs: number): Promise<Fact[]> {
  const rows = await deliveriesOf(db, lostAfterMs)
  const byKey = new Map(rows.map((row) => [row.key, row]))
  const received = fake.received.filter(({ key }) => byKey.has(key))
  return [
    ...rows
      .filter(({ isLost }) => isLost)
      .map(({ id, state }) => ({ broken: `I1 ${state} and nobody is at it`, of: id })),
    ...rows.flatMap((row) => sentTwice(row, fake.received, fake.posts)),
    ...received.flatMap((one) => earlyOrOther(one, byKey.get(one.key)!)),
    ...outOfOrder(byKey, received),
    ...rows.flatMap((row) => untrue(row, fake.posts)),
    ...received.flatMap((one) => ofAnother(one, byKey.get(one.key)!)),
    ...(await checkInvariants(db))
      .filter(({ broken }) => broken > 0)
      .map(({ name, ids }) => ({ broken: `the ledger: not so that ${name}`, of: ids.join(', ') })),
  ]
}

async function deliveriesOf(db: Db, lostAfterMs: number): Promise<Row[]> {
  const after = sql`(now() - ${lostAfterMs} * interval '1 ms')`
  const rows = await db.execute<Row>(sql`
    select d.id, d.publish_key as key, d.channel_id as "channelId", d.organisation_id as "organisationId", d.state,
      coalesce(d.content, p.content) as text, extract(epoch from d.due_at)::float8 * 1000 as due, d.attempt_no as "attemptNo",
      d.maybe_out as "maybeOut", d.evidence, d.remote_id as "remoteId",
      case d.state
        when 'held' then c.status = 'active'
        when 'claimed' then d.lease_until < ${after}
        when 'sending' then d.lease_until < ${after}
        when 'uncertain' then d.look_at < ${after} and (d.lease_until is null or d.lease_until < ${after})
        when 'scheduled' then d.ready_at < ${after} and c.paused_at is null and (c.paused_until is null or c.paused_until < ${after})
          and not exists (select from networks n where n.name = c.network and n.paused_at is not null)
          and not exists (select from installation i where i.paused_at is not null or i.restored_at is not null)
          and not exists (select from deliveries u where u.channel_id = d.channel_id and u.id <> d.id
            and (u.state in ('claimed', 'sending') or (u.state = 'scheduled' and (u.due_at, u.id) < (d.due_at, d.id))))
          and (select count(*) from deliveries u where u.channel_id = d.channel_id and u.state = 'uncertain') < 3
          and not (d.crash_count > 0 and exists (select from deliveries u where u.crash_count > 0 and u.state in ('claimed', 'sending')))
        else false end and d.due_at < ${after} as "isLost"
    from deliveries d join posts p on p.id = d.post_id join channels c on c.id = d.channel_id`)
  return [...rows]
}

function sentTwice({ id, key }: Row, received: Received[], posts: Received[]): Fact[] {
  const sent = received.filter((one) => one.key === key)
  const shown = posts.filter((one) => one.key === key)
  const kind = sent[0]?.kind
  if (kind === 'blind' && sent.length > 1)
    return [{ broken: `I2 sent ${sent.length} times where nothing can be known`, of: id }]
  return shown.length > 1 ? [{ broken: `I2 out ${shown.length} times (${kind})`, of: id }] : []
}

function earlyOrOther({ at, text }: Received, row: Row): Fact[] {
  if (at + ClockMs < row.due) return [{ broken: `I3 sent ${row.due - at} ms before its hour`, of: row.id }]
  return text === row.text ? [] : [{ broken: 'I3 another text went out than the one that was asked for', of: row.id }]
}

/** Checks each channel: no two sends overlap, and first attempts go out in order of (due_at, id). */
function outOfOrder(byKey: Map<string, Row>, received: Received[]): Fact[] {
  return [...Map.groupBy(received, ({ account }) => account)].flatMap(([account, ofChannel]) => {
    const overlapping = ofChannel.filter(({ at }, i) => i > 0 && at < ofChannel[i - 1]!.endedAt)
    const straight = ofChannel.map(({ key }) => byKey.get(key)!).filter(({ attemptNo }) => attemptNo === 1)
    const sorted = straight.toSorted((a, b) => a.due - b.due || (a.id < b.id ? -1 : 1))
    const wrong = straight.find((row, i) => row !== sorted[i])
    return [
      ...(overlapping.length > 0 ? [{ broken: 'I5 two at once on one channel', of: account }] : []),
      ...(wrong ? [{ broken: 'I5 out of its turn', of: wrong.id }] : []),
    ]
  })
}

function untrue({ id, key, state, evidence, remoteId }: Row, posts: (Received & { id: string })[]): Fact[] {
  const shown = posts.filter((one) => one.key === key)
  const isOut = shown.some((one) => one.id === remoteId)
  if (state === 'published' && evidence !== 'person' && !isOut)
    return [{ broken: 'I6 called published and not there', of: id }]
  if (shown.length > 0 && ['draft', 'held', 'failed', 'cancelled'].includes(state))
    return [{ broken: `I6 called ${state} and is there`, of: id }]
  return []
}

// A world's token ends with the id of its organisation.
function ofAnother({ token }: Received, { id, organisationId }: Row): Fact[] {
  return token.includes(' of ') && !token.endsWith(organisationId)
    ? [{ broken: 'I7 sent with the credential of another', of: id }]
    : []
}
