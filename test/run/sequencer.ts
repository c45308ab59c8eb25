import { BaseSequencer, type TestSpecification } from 'vitest/node'

// They take a minute or more, and mostly wait. A run that begins them last waits for them alone.
const waiting = [
  'test/faults/slow-readers.test.ts',
  'test/faults/database/restored.test.ts',
  'test/faults/networks/readings.test.ts',
  'test/faults/database/frozen.test.ts',
  'test/faults/queue.test.ts',
]

/** Begins with the files that mostly wait. */
export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = await super.sort(files)
    const first = waiting.flatMap((name) => rest.filter(({ moduleId }) => moduleId.endsWith(name)))
    return [...first, ...rest.filter((file) => !first.includes(file))]
  }
}
