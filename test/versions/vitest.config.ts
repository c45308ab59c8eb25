import { mergeConfig } from 'vitest/config'
import common from '../vitest.config.ts'

// `npm run test:postgres`: the database and the ledger on the PostgreSQL that TEST_POSTGRES names.
const { exclude: _, globalSetup: __, ...test } = common.test!
const database = ['client', 'driver', 'migrate', 'post-lists-migration', 'prober', 'statements', 'tenancy']
const ledger = [
  'ledger',
  'claim',
  'user-actions',
  'pause',
  'invariants',
  'after-restore',
  'restore',
  'suspension',
  'events',
]
const publish = ['outcomes', 'publish', 'alarm', 'caps', 'uncertain']
const other = [
  'test/jobs/sweep/rows.test.ts',
  'test/jobs/channels/revocations.test.ts',
  'test/jobs/channels/limits.test.ts',
  'test/server/posts/list.test.ts',
  'test/server/rest/lists.test.ts',
  'test/server/media/storage-quota.test.ts',
]

const testsOf = (folder: string, names: string[]) => names.map((name) => `test/${folder}/${name}.test.ts`)

export default mergeConfig(
  { ...common, test: { ...test, include: [] } },
  {
    test: {
      include: [
        ...testsOf('db', database),
        ...testsOf('jobs/ledger', ledger),
        ...testsOf('jobs/publish', publish),
        ...other,
      ],
      globalSetup: 'test/versions/postgres.setup.ts',
    },
  },
)
