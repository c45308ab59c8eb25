import type { SerializedError } from 'vitest'
import { DefaultReporter, type TestCase, type TestModule, type TestRunEndReason } from 'vitest/node'

/** Vitest's own report, then what was skipped and why, then one last line of counts. */
export class Counts extends DefaultReporter {
  override onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, unhandled, reason)
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // A file that does not load, or a hook that throws, fails no test by name.
    const nameless = modules
      .flatMap((module) => [module, ...module.children.allSuites()])
      .flatMap((part) => part.errors())
    const failed = count('failed') + nameless.length + unhandled.length
    const lines = tests.filter((test) => test.result().state === 'skipped').map(skipped)
    lines.push(`${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped`)
    process.stdout.write(`${lines.join('\n')}\n`)
  }
}

function skipped(test: TestCase): string {
  const result = test.result()
  const reason = (result.state === 'skipped' && result.note) || 'no reason given'
  return `skipped: ${test.module.relativeModuleId} > ${test.fullName}: ${reason}`
}
