import { eq } from 'drizzle-orm'
import { deliveries } from '../../db/schema/ledger.ts'
import { pause, resume } from '../../jobs/ledger/pause.ts'
import { Failure } from '../../server/errors.ts'
import { type Stage, Unit } from './stage.ts'
import type { State, Step } from './steps.ts'

// The actions of people, through the real procedures. A refusal changes nothing; a success is a promise to them.

/** Every action that a person can try in `state`. */
export function peopleSteps(stage: Stage, { rows }: State): Step[] {
  const posts = rows.deliveries.flatMap((row) => postSteps(stage, row as Shown))
  return [...posts, ...rows.channels.flatMap((row) => channelSteps(stage, row as Connected))]
}

type Shown = { id: string; post_id: string; channel_id: string; state: string }
type Connected = { id: string; status: string; paused_at: string | null }

function postSteps(stage: Stage, { id, post_id: postId, channel_id: channelId, state }: Shown): Step[] {
  const { api, deliveryIds, nowMs } = stage
  const deed = (name: string, run: (next: State) => Promise<void>) => person(`${name} ${deliveryIds.indexOf(id)}`, run)
  const edited = (next: State) => (next.truth.asked[id] === 'a' ? 'b' : 'a')
  const edit = (name: string, date?: Date) =>
    deed(name, async (next) => {
      const content = edited(next)
      await api.posts.update({ id: postId, content, ...(date ? { date: date.toISOString() } : {}) })
      next.truth.asked[id] = content
    })
  if (state === 'published' || state === 'cancelled') return []
  if (state === 'failed') return [retrying(), cancelling()]
  if (state !== 'needs_review') return [edit('edits'), edit('moves', new Date(nowMs + Unit)), cancelling()]
  const resolve = (outcome: 'published' | 'not_published' | 'cancelled') =>
    deed(`says ${outcome} of`, async (next) => {
      await api.posts.resolve({ id: postId, channelId, outcome })
      excuse(next, id)
      if (outcome === 'cancelled') next.truth.asked[id] = null
    })
  return [resolve('published'), resolve('not_published'), resolve('cancelled')]

  function retrying(): Step {
    return deed('retries', async (next) => {
      await api.posts.retry({ id: postId })
      excuse(next, id)
    })
  }

  function cancelling(): Step {
    return deed('cancels', async (next) => {
      await api.posts.cancel({ id: postId })
      next.truth.asked[id] = null
    })
  }
}

// People have looked themselves, so their decision covers everything that was sent until then.
function excuse({ truth }: State, id: string): void {
  for (const flight of truth.flights) if (flight.deliveryId === id) flight.isExcused = true
}

function channelSteps({ api, tx, channelIds, kind }: Stage, { id, status, paused_at }: Connected): Step[] {
  const i = channelIds.indexOf(id)
  const disconnect = (unsent: 'cancel' | 'hold') =>
    person(`disconnects ${i} to ${unsent}`, async (next) => {
      await api.channels.disconnect({ id, unsent })
      if (unsent === 'cancel') await forget(next, id)
    })
  const reach = { scope: 'channel' as const, id }
  return [
    ...(status === 'disconnected' ? [] : [disconnect('cancel'), disconnect('hold')]),
    ...(status === 'active'
      ? []
      : [
          person(
            `connects ${i} again`,
            async () => void (await api.channels.connect({ network: kind, channelId: id, input: { account: id } })),
          ),
        ]),
    paused_at === null
      ? person(`pauses ${i}`, async () => void (await pause(tx, reach)))
      : person(`resumes ${i}`, async () => void (await resume(tx, reach))),
  ]

  async function forget(next: State, channelId: string): Promise<void> {
    const rows = await tx.select().from(deliveries).where(eq(deliveries.channelId, channelId))
    for (const row of rows) if (row.state === 'cancelled') next.truth.asked[row.id] = null
  }
}

function person(name: string, run: Step['run']): Step {
  return {
    name,
    by: 'person',
    run: (next) => {
      next.deeds++
      return run(next).catch((error: unknown) => {
        if (!(error instanceof Failure || (error as Error).cause instanceof Failure)) throw error
      })
    },
  }
}
