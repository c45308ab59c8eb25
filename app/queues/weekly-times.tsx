import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Alert } from '../ui/alert.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { controlClass } from '../ui/forms/control.tsx'
import type { Queue } from './queue.ts'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.times
const Week = [1, 2, 3, 4, 5, 6, 7]

/** The times of a queue, day by day. Each button changes the queue at once. */
export function WeeklyTimes({ queue, problem }: { queue: Queue; problem: string | null }) {
  const { write } = useMay()
  const heading = useFocusAfterRemoval(queue.times.length)
  return (
    <section className="rounded-2xl border border-line bg-panel p-5 shadow-sm sm:p-6" aria-labelledby="times">
      <h2 id="times" ref={heading} tabIndex={-1} className="font-semibold">
        {strings.title}
      </h2>
      <p className="mt-1 text-sm text-muted">{strings.lead(queue.timeZone)}</p>
      <div className="mt-4 grid gap-3 sm:grid-cols-4 lg:grid-cols-7">
        {Week.map((weekday) => (
          <Day key={weekday} weekday={weekday} times={queue.times} canRemove={write} />
        ))}
      </div>
      {write ? <NewTime problem={problem} /> : null}
    </section>
  )
}

// The button that removed a time is gone: the focus goes to the heading.
function useFocusAfterRemoval(count: number) {
  const heading = useRef<HTMLHeadingElement>(null)
  const before = useRef(count)
  useEffect(() => {
    if (count < before.current) heading.current?.focus()
    before.current = count
  }, [count])
  return heading
}

function Day({ weekday, times, canRemove }: { weekday: number; times: Queue['times']; canRemove: boolean }) {
  const name = queueStrings.weekday(weekday)
  const ofDay = times.filter((time) => time.weekday === weekday)
  return (
    <div>
      <h3 id={`day-${weekday}`} className="mb-1.5 text-sm font-medium text-muted">
        {name}
      </h3>
      {ofDay.length === 0 ? <p className="text-sm text-muted">{strings.none}</p> : null}
      <ul aria-labelledby={`day-${weekday}`} className="flex flex-wrap gap-1.5 sm:flex-col sm:items-start">
        {ofDay.map(({ time }) => (
          <li key={time} className="flex items-center rounded-lg bg-sunken pl-2.5 text-sm tabular-nums">
            {time}
            {canRemove ? (
              <RemoveTime weekday={weekday} time={time} label={strings.remove(name, time)} />
            ) : (
              <span className="py-1 pr-2.5" />
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

function RemoveTime({ weekday, time, label }: { weekday: number; time: string; label: string }) {
  return (
    <PostForm preventScrollReset>
      <input type="hidden" name="intent" value="remove-time" />
      <button
        type="submit"
        name="time"
        value={`${weekday} ${time}`}
        aria-label={label}
        className="grid size-7 place-items-center rounded-lg text-muted hover:text-bad"
      >
        <X aria-hidden className="size-3.5" />
      </button>
    </PostForm>
  )
}

function NewTime({ problem }: { problem: string | null }) {
  return (
    <PostForm preventScrollReset className="mt-5 space-y-3 border-t border-line pt-4">
      {problem ? <Alert className="">{problem}</Alert> : null}
      <div className="flex flex-wrap items-end gap-3">
        <div>
          <label htmlFor="new-time" className="mb-1.5 block text-sm font-medium">
            {strings.time}
          </label>
          <input id="new-time" type="time" name="time" defaultValue="09:00" required className={controlClass} />
        </div>
        <fieldset className="min-w-0">
          <legend className="mb-1.5 text-sm font-medium">{strings.days}</legend>
          <div className="flex flex-wrap gap-x-4 gap-y-2 py-2">
            {Week.map((weekday) => (
              <label key={weekday} className="flex items-center gap-1.5 text-sm">
                <input
                  type="checkbox"
                  name="weekday"
                  value={weekday}
                  defaultChecked={weekday < 6}
                  className="size-4 accent-accent"
                />
                {queueStrings.weekday(weekday)}
              </label>
            ))}
          </div>
        </fieldset>
      </div>
      <Submit name="intent" value="add-time">
        {strings.add}
      </Submit>
    </PostForm>
  )
}
