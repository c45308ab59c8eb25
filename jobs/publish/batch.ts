/**
 * One call for many items. Items that come during a run wait and go together in the next run, at most `most` at a time.
 *
 * `run` returns an answer for each item, in the given order. When a group fails, `isOfOne` says whether a single item
 * may be the reason. If so, we run each item alone, and each succeeds or fails by itself.
 */
export function batch<I, O>(
  run: (items: I[]) => Promise<O[]>,
  { most, isOfOne }: { most: number; isOfOne: (error: unknown) => boolean },
): (item: I) => Promise<O> {
  const waiting: Waiting<I, O>[] = []
  let isRunning = false

  async function runAll(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) await runGroup(waiting.splice(0, most))
    isRunning = false
  }

  async function runGroup(group: Waiting<I, O>[]): Promise<void> {
    try {
      const answers = await run(group.map(({ item }) => item))
      for (const [i, { done }] of group.entries()) done(answers[i]!)
    } catch (error) {
      if (group.length > 1 && isOfOne(error))
        for (const one of group) void runGroup([one]) // we do not wait: the items run at the same time
      else for (const { fail } of group) fail(error)
    }
  }

  return (item) =>
    new Promise((done, fail) => {
      waiting.push({ item, done, fail })
      if (!isRunning) {
        isRunning = true
        queueMicrotask(runAll) // so that items that are added together go in one run
      }
    })
}

type Waiting<I, O> = { item: I; done: (answer: O) => void; fail: (error: unknown) => void }
