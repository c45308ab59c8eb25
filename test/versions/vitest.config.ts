import { mergeConfig } from 'vitest/config'
import common from '../vitest.config.ts'

// `npm run test:postgres`: the database and the ledger on the PostgreSQL that TEST_POSTGRES names.
const { exclude: _, globalSetup: __, ...test } = common.test!
const database = ['client', 'driver', 'migrate', 'post-lists-migration', 'prober', 'statements', 'tenancy']
const engine = ['ledger', 'claim', 'orders', 'outcomes', 'publish', 'sweep', 'pause', 'alarm', 'invariants', 'caps']
const ledger = [
  ...engine,
  'after-restore',
  'restore',
  'suspension',
  'events',
  'uncertain',
  'revocations',
  'channel-limits',
]
const lists = ['post-lists', 'lists', 'storage-quota']

const testsOf = (folder: string, names: string[]) => names.map((name) => `test/${folder}/${name}.test.ts`)

export default mergeConfig(
  { ...common, test: { ...test, include: [] } },
  {
    test: {
      include: [...testsOf('db', database), ...testsOf('jobs', ledger), ...testsOf('server', lists)],
      globalSetup: 'test/versions/postgres.setup.ts',
    },
  },
)
