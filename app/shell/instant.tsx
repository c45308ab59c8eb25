import { useZone } from './account.ts'

const forms = {
  full: ({ weekday, day, month, year, hour, minute }: Parts) => `${weekday} ${day} ${month} ${year}, ${hour}:${minute}`,
  day: ({ day, month, year }: Parts) => `${day} ${month} ${year}`,
  time: ({ hour, minute }: Parts) => `${hour}:${minute}`,
  exact: ({ day, month, year, hour, minute, second }: Parts) => `${day} ${month} ${year}, ${hour}:${minute}:${second}`,
}

type Parts = Record<string, string>

/** An instant (ISO 8601) in the person's time zone. The forms are simple, so that server and browser write the same. */
export function Instant({ at, form = 'full' }: { at: string; form?: keyof typeof forms }) {
  return (
    <time dateTime={at} className="whitespace-nowrap tabular-nums">
      {forms[form](partsOf(at, useZone()))}
    </time>
  )
}

// Without luxon: it is on every page, and most need nothing else of it.
function partsOf(at: string, timeZone: string): Parts {
  const names = { weekday: 'short', month: 'short' } as const
  const numbers = { day: 'numeric', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...names, ...numbers, hourCycle: 'h23', timeZone })
  return Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]))
}
