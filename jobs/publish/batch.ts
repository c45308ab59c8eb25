/**
 * One call for many: what comes while a run is under way waits, and goes together in the next one, at most `most` at a time.
 *
 * `run` answers for each item in the order given. When a group fails, `isOfOne` says whether one of it may be the reason:
 * then each is run alone and fails, or not, by itself.
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
        for (const one of group) void runGroup([one]) // nobody waits for the one
      else for (const { fail } of group) fail(error)
    }
  }

  return (item) =>
    new Promise((done, fail) => {
      waiting.push({ item, done, fail })
      if (!isRunning) {
        isRunning = true
        queueMicrotask(runAll) // so that what is asked for in one go is one run
      }
    })
}

type Waiting<I, O> = { item: I; done: (answer: O) => void; fail: (error: unknown) => void }
