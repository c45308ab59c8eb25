import { mergeConfig } from 'vitest/config'
import common from '../vitest.config.ts'

// `npm run test:clients`: slow, since it installs six generators of other people.
const { exclude: _, ...test } = common.test!
export default mergeConfig(
  { ...common, test: { ...test, include: [] } },
  { test: { include: ['test/clients/*.test.ts'] } },
)
