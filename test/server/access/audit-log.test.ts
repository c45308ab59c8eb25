import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { organisations } from '../../../db/schema/accounts.ts'
import { record } from '../../../server/access/audit.ts'
import { anOrganisation } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'
import { testSite } from '../../processes.ts'

const Root = `${import.meta.dirname}/../../..`

// The trail as its table keeps it, whoever writes: a bug of ours or a person at the database's prompt.

let database: Awaited<ReturnType<typeof testDatabase>>
let organisationId: string
beforeAll(async () => {
  database = await testDatabase()
})
beforeEach(async () => {
  organisationId = await aTrail()
})
afterAll(() => database.end())

/** An organisation of which one deed is known. */
async function aTrail(): Promise<string> {
  const { organisationId } = await anOrganisation(database.db)
  const by = { kind: 'operator', id: null, name: 'Operator' } as const
  const subject = { id: null, name: 'A key' }
  await record(database.db, { organisationId, action: 'key.created', by, address: null, subject })
  return organisationId
}

async function lengthOf(trail: string): Promise<number> {
  return (await database.db.execute(sql`select from activity where organisation_id = ${trail}`)).length
}

test.each([
  ['UPDATE', sql`update activity set actor_name = 'Nobody'`],
  ['DELETE', sql`delete from activity`],
  ['TRUNCATE', sql`truncate activity`],
  ['TRUNCATE', sql`truncate organisations cascade`],
])('the database refuses %s of the trail, in a sentence', async (verb, statement) => {
  const refused = await database.db.execute(statement).catch((error: Error) => error.cause)
  expect(refused).toMatchObject({ message: `The trail is only added to: ${verb} on activity is refused.` })
  expect(await lengthOf(organisationId)).toBe(1)
})

test('the audit log is deleted with its organisation, and no other one', async () => {
  const other = await aTrail()
  await database.db.delete(organisations).where(eq(organisations.id, organisationId))
  expect([await lengthOf(organisationId), await lengthOf(other)]).toEqual([0, 1])
})

test('a key that the operator makes at the command line is in the audit log', async () => {
  const site = await testSite(database.url)
  const command = 'server/run/admin.ts create-account --email op@example.org --organisation Op --api-key --password'
  const args = [...command.split(' '), 'correct horse']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: Root,
    env: { NODE_ENV: 'test', ...site.env },
  })
  await site.end()
  const { organisation } = JSON.parse(stdout)
  const [deed] = await database.db.execute(sql`
    select action, actor_kind, actor_name, subject_name from activity where organisation_id = ${organisation.id}`)
  expect(deed).toEqual({
    ...{ action: 'key.created', actor_kind: 'operator', actor_name: 'at the command line' },
    subject_name: "Operator's key",
  })
})
