import type { Other } from '../network.ts'
import { isSame, type Match, matchOf, type OwnText, ownText, type ShownText } from './same-text.ts'

/** What was sent. A status may be its post. */
export type Prepared = { text: string; media_ids: string[] } // `text` is empty if the post has only files

/** A status, and how it compares with the delivery that we look for. */
type Compared = { shown: ShownText; files: number; match: Match }

/** Whether another open delivery fits a status too. under way: one that is being sent; we will know more soon. */
export type Rivalry = 'none' | 'open' | 'under way'

/**
 * Compare statuses with the other open deliveries of the channel. `others` is null if there are too many to compare.
 *
 * We prepare each distinct text once. With `isContested` we compare only deliveries that are being sent: we know
 * already that the status proves nothing. We await `pause` between steps.
 */
export function rivalryWith(
  others: Other[] | null,
  parse: (prepared: unknown) => Prepared,
  pause: () => Promise<void>,
) {
  const parsed = (others ?? []).map(({ prepared, isUnderWay }) => ({ ...parse(prepared), isUnderWay }))
  const underWayFirst = parsed.sort((a, b) => Number(b.isUnderWay) - Number(a.isUnderWay))
  const ready = new Map<string, OwnText>()
  return async (status: Compared, isContested: boolean): Promise<Rivalry> => {
    for (const { text, media_ids, isUnderWay } of underWayFirst) {
      if (isContested && !isUnderWay) break
      const theirs = ready.get(text) ?? (await ownText(text))
      ready.set(text, theirs)
      await pause()
      if (fits(theirs, media_ids.length, status)) return isUnderWay ? 'under way' : 'open'
    }
    return others === null ? 'open' : 'none'
  }
}

function fits(theirs: OwnText, files: number, { shown, match, ...status }: Compared): boolean {
  if (match === 'same') return files === status.files && isSame(theirs, shown)
  return matchOf(theirs, shown) !== 'other'
}
