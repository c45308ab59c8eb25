import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memberships } from '../../../db/schema/accounts.ts'
import { aPhoto } from '../../builders.ts'
import { anApp, aPerson, approved, credentials, exchange, type Flow, openFlow, post, queryFor } from '../oauth/flow.ts'

// What stands in the trail of what is done with apps, keys and consents. How the table keeps it: audit-log.test.ts.

let f: Flow
beforeAll(async () => {
  f = await openFlow()
})
afterAll(() => f.end())

async function aPicture(): Promise<string> {
  const path = join(f.site.dataDir, 'picture.png')
  await writeFile(path, await aPhoto())
  return path
}

test('the audit log has every step, with who and from where, in the organisation that it concerns', async () => {
  const [maker, approver] = [await aPerson(f.installation, 'M'), await aPerson(f.installation, 'A')]
  const app = await anApp(maker)
  const { id, name, redirectUri } = app
  const { clientSecret } = await maker.api.apps.rotate({ id })
  await maker.api.apps.update({ id, name, redirectUris: [redirectUri, 'https://new.example/'] })
  await maker.api.apps.setPicture({ id, path: await aPicture() })
  const key = await maker.api.keys.create({ name: 'Feed' })
  await maker.api.keys.revoke({ id: key.id })
  await approved(f, queryFor(app), { decision: 'deny' }, approver)
  const codeOf = async () => (await approved(f, queryFor(app), {}, approver)).searchParams.get('code')!
  const token = (await exchange(f, { ...app, clientSecret }, await codeOf())).json.access_token
  await post(f, 'revoke', { ...credentials({ ...app, clientSecret }), token })
  await codeOf()
  await approver.api.approvedApps.revoke({ id })
  await maker.api.apps.delete({ id, name })
  const trail = async ({ api }: typeof maker) => (await api.activity.list({})).data
  const actions = (entries: { action: string }[]) => entries.map(({ action }) => action)
  const made = await trail(maker)
  expect(actions(made)).toEqual([
    ...['app.deleted', 'key.revoked', 'key.created', 'app.updated', 'app.updated', 'app.secret_rotated', 'app.created'],
  ])
  const changes = made.filter(({ action }) => action === 'app.updated').map(({ detail }) => detail)
  const redirects = { redirectUris: [redirectUri, 'https://new.example/'], formerRedirectUris: [redirectUri] }
  expect(changes).toEqual([{ picture: 'changed' }, { ...redirects, formerName: name }])
  const told = await trail(approver)
  expect(actions(told)).toEqual([
    ...['consent.revoked', 'consent.approved', 'token.revoked', 'token.issued', 'consent.approved', 'consent.denied'],
  ])
  for (const entry of told)
    expect(entry).toMatchObject({ subjectName: app.name, address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) })
  expect(told.map(({ actorKind }) => actorKind)).toEqual(['member', 'member', 'app', 'app', 'member', 'member'])
})

test('a denial is in the audit log of the chosen organisation, if the person may approve for it', async () => {
  const home = await aPerson(f.installation, 'Home')
  const work = await aPerson(f.installation, 'Work')
  const workId = work.organisationId
  await f.db.insert(memberships).values({ organisationId: workId, accountId: home.accountId, role: 'admin' })
  const denials = async ({ api }: typeof home) =>
    (await api.activity.list({})).data.filter(({ action }) => action === 'consent.denied').length
  const deny = (organisationId?: string) =>
    approved(f, queryFor(f.app), { decision: 'deny', ...(organisationId ? { organisationId } : {}) }, home)
  await deny(workId)
  expect([await denials(home), await denials(work)]).toEqual([0, 1])
  await f.db.update(memberships).set({ role: 'viewer' }).where(eq(memberships.organisationId, workId))
  expect((await deny(workId)).searchParams.get('error')).toBe('access_denied')
  expect(await denials(home)).toBe(0)
  await f.db.update(memberships).set({ role: 'owner' }).where(eq(memberships.organisationId, workId))
  expect(await denials(work)).toBe(1)
})

test('two changes of an app at once: the audit log says what each of them changed', async () => {
  const { id, name } = await anApp(f.maker)
  const change = (path: string) => f.maker.api.apps.update({ id, name, redirectUris: [`https://${path}.example/`] })
  for (let round = 0; round < 20; round++) {
    await Promise.all([change(`a${round}`), change(`b${round}`)])
    const entries = (await f.maker.api.activity.list({})).data.filter(({ subjectId }) => subjectId === id)
    expect(entries[0]!.detail.formerRedirectUris).toEqual(entries[1]!.detail.redirectUris)
  }
})
