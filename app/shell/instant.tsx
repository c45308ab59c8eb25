import { DateTime } from 'luxon'
import { useZone } from './account.ts'

const forms = { full: 'ccc d LLL yyyy, HH:mm', day: 'd LLL yyyy', time: 'HH:mm', exact: 'd LLL yyyy, HH:mm:ss' }

/** An instant (ISO 8601) in the person's time zone. The formats are simple, so that server and browser write the same. */
export function Instant({ at, form = 'full' }: { at: string; form?: keyof typeof forms }) {
  const shown = DateTime.fromISO(at, { zone: useZone(), locale: 'en' }).toFormat(forms[form])
  return (
    <time dateTime={at} className="whitespace-nowrap tabular-nums">
      {shown}
    </time>
  )
}
