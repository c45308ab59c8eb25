import { expect, test } from 'vitest'
import { aDelivery } from '../builders.ts'
import { until } from '../processes.ts'
import { deliveryOf } from '../world.ts'
import { ownWorld } from './play.ts'

for (const [text, crashCount] of [
  ['meets a full disk', 0],
  ['meets a mistake', 1],
] as const)
  test(`a worker that ${text} and ends leaves its post with ${crashCount} crashes`, async (context) => {
    const { db, organisationId, channel, worker } = await ownWorld(context)
    const victim = await worker({ mayEnd: true })
    const id = await aDelivery(db, { organisationId, channelId: await channel('blind'), dueAt: new Date(), text })
    expect(await victim.ended).toBe(1)
    await worker({ mayEnd: true }) // it meets the same fault
    await until(async () => (await deliveryOf(db, id)).attemptNo > 1) // another worker took it over
    expect(await deliveryOf(db, id)).toMatchObject({ crashCount })
  })
