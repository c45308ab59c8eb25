import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { queueStrings } from './strings.tsx'

/** The next free times of a queue, in the person's time zone. */
export function NextTimes({ dates }: { dates: string[] }) {
  const strings = queueStrings.waiting
  return (
    <Card title={strings.next}>
      {dates.length === 0 ? <p className="text-sm text-muted">{strings.noneFree}</p> : null}
      <ol className="flex flex-wrap gap-2 text-sm">
        {dates.map((date) => (
          <li key={date} className="rounded-lg bg-sunken px-2.5 py-1">
            <Instant at={date} />
          </li>
        ))}
      </ol>
    </Card>
  )
}
