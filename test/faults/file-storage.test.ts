import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { s3Files } from '../../db/files/s3.ts'
import { memberships } from '../../db/schema/accounts.ts'
import { deliveries } from '../../db/schema/ledger.ts'
import { media } from '../../db/schema/media.ts'
import { aKeyOfAllScopes } from '../builders.ts'
import { startWeb, until } from '../processes.ts'
import { callApi, expectProblem } from '../server/web.ts'
import { aDoor } from '../stand-ins/door.ts'
import { type S3, startS3 } from '../stand-ins/s3.ts'
import { deliveryOf, untilPublished, type World, world } from '../world.ts'

// The bucket is away while the database answers: no error or log line blames the database.

const Key = '00112233445566778899aabbccddeeff.jpg'

let s3: S3
let door: Awaited<ReturnType<typeof aDoor>>
let w: World
beforeAll(async () => {
  s3 = await startS3()
  door = await aDoor(s3.bucket.endpoint)
  w = await world()
  Object.assign(w.site.env, s3.variables, { S3_ENDPOINT: new URL(door.url).origin })
  await (await s3Files(w.site.dataDir, s3.bucket)).write(Key, Buffer.from('a picture'))
})
afterAll(async () => {
  await w.end()
  await door.shut()
  await s3.end()
})

describe('while the bucket is away', () => {
  beforeEach(async () => {
    await door.shut()
    return () => door.open()
  })

  test('the log of the worker names the file storage, and a post with a file waits', async () => {
    const { id } = await aDeliveryWithFile()
    const worker = await w.worker()

    await until(async () => (await deliveryOf(w.db, id)).error?.code === 'file_storage_away')

    await until(() => worker.log().includes('a timer failed'))
    expect(worker.log()).toContain('The file storage cannot be used: connect ECONNREFUSED')
    expect(worker.log()).not.toMatch(/database is away|database took no work/)
    expect(w.fake.received).toHaveLength(0)

    await door.open()
    await untilPublished(w.db, [id])
    await w.stopWorkers()
    await door.shut()
  })

  test('a call that needs a file gets 503', async () => {
    const { organisationId } = w
    const [member] = await w.db.select().from(memberships).where(eq(memberships.organisationId, organisationId))
    const key = await aKeyOfAllScopes(w.db, { organisationId, accountId: member!.accountId })
    await aDeliveryWithFile()
    const web = await startWeb(w.site)

    const body = new FormData()
    body.set('file', new Blob([Picture], { type: 'image/gif' }), 'a.gif')
    const answer = await callApi(w.site.appUrl, 'POST', '/media', { key, body })
    const file = await fetch(`${w.site.appUrl}/files/${Key}`)

    expectProblem(answer, 503, 'unavailable')
    expect([file.status, file.headers.get('retry-after')]).toEqual([503, '5'])
    expect(`${answer.text} ${await file.text()}`).not.toContain('database')
    expect(web.log()).toContain('The file storage cannot be used: connect ECONNREFUSED')
    await web.stop()
  })
})

const Picture = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64') // 1 × 1

async function aDeliveryWithFile() {
  const delivery = await w.delivery('two-step', new Date(Date.now() + 1000))
  const facts = { kind: 'image', mime: 'image/jpeg', bytes: 9, width: 1, height: 1, sha256: 'x' } as const
  const { organisationId } = w
  const [row] = await w.db
    .insert(media)
    .values({ organisationId, ...facts, fileKey: Key })
    .returning()
  await w.db
    .update(deliveries)
    .set({ mediaIds: [row!.id] })
    .where(eq(deliveries.id, delivery.id))
  return delivery
}
