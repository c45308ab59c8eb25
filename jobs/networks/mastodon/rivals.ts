import type { Other } from '../network.ts'
import { isSame, type Match, matchOf, type OwnText, ownText, type ShownText } from './same-text.ts'

/** What was sent, of which a status may be the post. */
export type Prepared = { text: string; media_ids: string[] } // `text` is empty where files go out alone

/** A status, and how it compares with the delivery that is looked for. */
type Compared = { shown: ShownText; files: number; match: Match }

/** Whether another open delivery fits a status as well. under way: one that is being sent, of which more is known soon. */
export type Rivalry = 'none' | 'open' | 'under way'

/**
 * Compare statuses with the other open deliveries of the channel; null: there are too many of them to be told apart.
 *
 * Each distinct text is made ready once. With `isContested` only those that are under way are compared: it is known already that
 * the status proves nothing. `pause` is waited for between steps.
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
