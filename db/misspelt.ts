const PrefixLength = 6 // too many names begin with a shorter one, such as HOST

/**
 * The names in `given` that are not in `known` but look like a known name. One or two letters may differ, and the case,
 * the underscores, or the end may be missing. Names shorter than six letters must have the same letters.
 */
export function misspelt(given: string[], known: string[]): { name: string; meant: string }[] {
  return given.flatMap((name) => {
    if (known.includes(name)) return []
    const meant = known.find((one) => isLike(name, one) && !given.includes(one))
    return meant ? [{ name, meant }] : []
  })
}

function isLike(name: string, known: string): boolean {
  const [typed, right] = [lettersOf(name), lettersOf(known)]
  const isCutOff = name.length >= PrefixLength && known.startsWith(name)
  return isCutOff || distance(typed, right) <= (right.length < 6 ? 0 : right.length < 9 ? 1 : 2)
}

function lettersOf(name: string): string {
  return name.toUpperCase().replaceAll(/[_-]/g, '')
}

/** How many letters you must add, remove or change (Levenshtein). */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return 3
  let above = Array.from({ length: other.length + 1 }, (_, place) => place)
  for (const [row, letter] of [...one].entries()) {
    const here = [row + 1]
    for (const [place, otherLetter] of [...other].entries())
      here.push(Math.min(above[place + 1]! + 1, here[place]! + 1, above[place]! + (letter === otherLetter ? 0 : 1)))
    above = here
  }
  return above.at(-1)!
}
