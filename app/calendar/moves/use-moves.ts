import { useFetcher, useLocation, useSearchParams } from '@remix-run/react'
import { useEffect, useRef, useState } from 'react'
import type { CalendarPost } from '../../../server/posts/calendar.ts'
import { useAccount, useZone } from '../../shell/account.ts'
import type { Moved, Refused } from './move.ts'

/** What the last move did, or why it was not made. */
export type Outcome = { moved: Moved } | { refused: string }

/**
 * Moves posts without leaving the page, one at a time, and keeps the outcome of the last move while these days are shown.
 * `told` and `refused` are the outcomes of forms.
 */
export function useMoves(told: Moved | null, refused: Refused | null) {
  const fetcher = useFetcher<{ moved: Moved } | Refused>()
  const here = useLocation()
  const forOrganisation = useAccount()?.organisationId ?? ''
  const zone = useZone()
  const [refusal, setRefusal] = useState<{ refused: string } | null>(null)
  const putBack = useRef<() => void>()
  const answer = fetcher.data
  const newest = useNewest([told, refused, answer, refusal])
  useEffect(() => {
    if (answer && 'refused' in answer) putBack.current?.()
    putBack.current = undefined
  }, [answer])
  return {
    /** Move a post. If that is refused, or another move is on its way, `undo` puts it back on the page. */
    move({ id, version, date, queueId }: CalendarPost, to: { date: string; time: string }, undo: () => void) {
      if (fetcher.state !== 'idle') return undo()
      putBack.current = undo
      const form = {
        forOrganisation,
        zone,
        by: 'drag',
        id,
        version: String(version),
        from: date,
        queue: queueId ?? '',
        ...to,
      }
      fetcher.submit(form, { method: 'post', action: here.pathname + here.search })
    },
    /** Say why nothing is done. */
    refuse: (sentence: string) => setRefusal({ refused: sentence }),
    outcome: fetcher.state === 'idle' ? outcomeOf(newest) : null,
  }
}

type News = Moved | { moved: Moved } | { refused: string }

function outcomeOf(news: News | null): Outcome | null {
  return news === null || 'moved' in news || 'refused' in news ? news : { moved: news }
}

/** The one of several values that was set last, while the days that it was set on are shown. */
function useNewest<T>(values: (T | null | undefined)[]): T | null {
  const [query] = useSearchParams()
  const days = `${query.get('view')} ${query.get('date')}`
  const [seen, setSeen] = useState({ values, days, newest: values.find((value) => value) ?? null })
  const change = values.findIndex((value, i) => value && value !== seen.values[i])
  if (change >= 0) setSeen({ values, days, newest: values[change]! })
  return seen.days === days ? seen.newest : null
}
