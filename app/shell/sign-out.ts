const AtMostMs = 3000 // a server that does not answer keeps nobody signed in

const before: (() => unknown)[] = []

/** Do `does` before this browser signs out: the last one first. Returns a function that takes it back. */
export function beforeSignOut(does: () => unknown): () => void {
  before.push(does)
  return () => {
    before.splice(before.indexOf(does), 1)
  }
}

/** Do what must be done before this browser signs out. */
export async function endSession(): Promise<void> {
  for (const does of before.toReversed()) {
    const late = new Promise((done) => setTimeout(done, AtMostMs))
    await Promise.race([does(), late])
  }
}
