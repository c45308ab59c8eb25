/** Chance that a seed repeats. (mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c) */
export function chanceOf(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number) => from + next() * (to - from)
  return {
    between,
    /** True once in so many times. */
    oneIn: (times: number) => next() < 1 / times,
    of: <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!,
    /** One of these, as often as its number says. */
    weighted: <T extends string>(weights: Record<T, number>): T => {
      const all = Object.entries(weights) as [T, number][]
      let left = next() * all.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of all) {
        left -= weight
        if (left < 0) return name
      }
      return all[0]![0]
    },
  }
}

export type Chance = ReturnType<typeof chanceOf>
