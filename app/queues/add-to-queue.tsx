import { Link, useLoaderData } from '@remix-run/react'
import { DateTime } from 'luxon'
import { type ReactNode, useRef } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { useZone } from '../shell/account.ts'
import { Submit } from '../ui/forms/button.tsx'
import { controlClass } from '../ui/forms/control.tsx'
import { useFormValues } from '../ui/forms/form-values.ts'
import type { QueueChoice } from './choices.ts'
import type { NamedQueue } from './names.ts'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.composer
const NamesAtMost = 3
const NextId = 'queue-next'

/** What the route's loader has for this. `queue`: of the post. `gone`: disconnected channels. */
type Loaded = { queues?: QueueChoice[]; queue?: NamedQueue | null; channels?: Channel[]; gone?: Channel[] }

/**
 * The composer's button that puts the post into a queue, with the time that it would take, and a choice if several queues
 * have all chosen channels. If none has them, or the one that has them is paused, it says why. Shows nothing if
 * there is no queue with a free time and no paused queue.
 */
export function AddToQueue({ isWaiting }: { isWaiting: boolean }) {
  const { queues = [] } = useLoaderData() as Loaded
  const inside = useRef<HTMLDivElement>(null)
  const chosen = useFormValues(inside, 'channelIds') ?? [] // without scripts, the server refuses what does not fit
  const fits = (queue: QueueChoice) => outside(queue, chosen).length === 0
  const open = queues.filter(isOpen)
  const fitting = open.filter(fits)
  const paused = queues.find((queue) => !isOpen(queue) && fits(queue))
  if (queues.length === 0) return null
  return (
    <div ref={inside} className="mt-2.5 flex flex-wrap items-center gap-x-3 gap-y-2">
      {fitting.length === 0 ? (
        <WhyNot queues={open} paused={paused} chosen={chosen} />
      ) : (
        <>
          <Submit
            name="intent"
            value="queue"
            waits={isWaiting}
            {...(fitting.length === 1 ? { 'aria-describedby': NextId } : {})}
          >
            {strings.add}
          </Submit>
          <Choice queues={fitting} />
        </>
      )}
    </div>
  )
}

type OpenQueue = QueueChoice & { next: string }

function isOpen(queue: QueueChoice): queue is OpenQueue {
  return queue.next !== null
}

function outside({ channelIds }: QueueChoice, chosen: string[]): string[] {
  return chosen.filter((id) => !channelIds.includes(id))
}

function Choice({ queues }: { queues: OpenQueue[] }) {
  const { queues: all = [], queue } = useLoaderData() as Loaded
  const shownAt = useShortTime()
  const [first, ...others] = queues
  const isOnlyOne = all.filter(isOpen).length === 1 && (!queue || queue.id === first!.id)
  if (others.length === 0)
    return (
      <>
        <input type="hidden" name="queueId" value={first!.id} />
        <span id={NextId} className="text-sm text-muted">
          {isOnlyOne ? strings.next(shownAt(first!.next)) : strings.choice(first!.name, shownAt(first!.next))}
        </span>
      </>
    )
  return (
    <select
      name="queueId"
      aria-label={strings.queue}
      className={`${controlClass} !w-auto min-w-0 max-w-full pr-8 text-sm`}
    >
      {queues.map(({ id, name, next }) => (
        <option key={id} value={id}>
          {strings.choice(name, shownAt(next))}
        </option>
      ))}
    </select>
  )
}

type WhyNotProps = { queues: OpenQueue[]; paused: QueueChoice | undefined; chosen: string[] }

// About the paused queue that has all the channels, else the queue that lacks the fewest, of these the default one.
function WhyNot({ queues, paused, chosen }: WhyNotProps) {
  const { channels = [], gone = [] } = useLoaderData() as Loaded
  if (paused) return <Reason>{strings.paused(<QueueLink queue={paused} />)}</Reason>
  const nearest = queues.toSorted((a, b) => outside(a, chosen).length - outside(b, chosen).length)[0]
  if (!nearest) return null
  const names = outside(nearest, chosen).map((id) => [...channels, ...gone].find((one) => one.id === id)?.name ?? '')
  const why = queues.length === 1 ? strings.notInQueue : strings.notInOneQueue
  return <Reason>{why(listed(names), names.length, <QueueLink queue={nearest} />)}</Reason>
}

function Reason({ children }: { children: ReactNode }) {
  return <p className="text-sm text-muted">{children}</p>
}

function QueueLink({ queue: { id, name } }: { queue: NamedQueue }) {
  return (
    <Link to={`/queues/${id}`} className="underline underline-offset-2">
      {name}
    </Link>
  )
}

function listed(names: string[]): string {
  if (names.length > NamesAtMost) return strings.channels(names.length)
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(names)
}

function useShortTime(): (at: string) => string {
  const zone = useZone()
  return (at) => DateTime.fromISO(at, { zone, locale: 'en' }).toFormat('ccc d LLL, HH:mm')
}
