import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveries } from '../../db/schema/ledger.ts'
import { accessTokens, appSecrets, authorizationCodes, grants } from '../../db/schema/oauth.ts'
import { digest } from '../../server/access/secrets.ts'
import { aHouse, type House, newThings } from '../server/house.ts'
import { openWeb, type Web } from '../server/web.ts'

let w: Web
let ours: House
let theirs: House
beforeAll(async () => {
  w = await openWeb()
  ours = await aHouse(w)
  theirs = await aHouse(w)
})
afterAll(() => w.end())

test('the database itself refuses a post on another organisation\u2019s channel', async () => {
  const [mine, foreign] = [await newThings(w, ours), await newThings(w, theirs)]
  const move = w.db.update(deliveries).set({ channelId: foreign.channelId }).where(eq(deliveries.postId, mine.postId))
  await expect(move).rejects.toMatchObject({ cause: { code: '23503' } })
})

test('the database itself refuses a code or a token of one organisation on a consent of another, and a second token', async () => {
  const [mine, foreign] = [await newThings(w, ours), await newThings(w, theirs)]
  const { organisationId, appId } = foreign
  const granted = { organisationId, appId, approvedByName: 'Ada', scopes: ['posts:read'] }
  const [grant] = await w.db.insert(grants).values(granted).returning() // has no token yet
  const given = { grantId: grant!.id, appId: foreign.appId, redirectUri: '', wasRedirectNamed: false }
  const theirIds = { organisationId: foreign.organisationId }
  const hash = () => digest(uuidv7())
  const aToken = (row: object) => w.db.insert(accessTokens).values({ ...given, ...theirIds, ...row, tokenHash: hash() })
  const aCode = (row: object) =>
    w.db.insert(authorizationCodes).values({ ...given, ...theirIds, ...row, codeHash: hash(), expiresAt: new Date() })
  for (const row of [{ organisationId: mine.organisationId }, { appId: mine.appId }]) {
    await expect(aToken(row)).rejects.toMatchObject({ cause: { code: '23503' } })
    await expect(aCode(row)).rejects.toMatchObject({ cause: { code: '23503' } })
  }
  await aToken({})
  await expect(aToken({})).rejects.toMatchObject({ cause: { code: '23505' } })
  const secret = { organisationId: mine.organisationId, appId: foreign.appId, secretHash: hash(), last4: 'abcd' }
  await expect(w.db.insert(appSecrets).values(secret)).rejects.toMatchObject({ cause: { code: '23503' } })
})
