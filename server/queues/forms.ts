import { z } from 'zod'
import { cursor, Id, Instant, limit, line, TimeZone } from '../forms.ts'

export const TimesAtMost = 200

const WeeklyTime = z
  .strictObject({
    weekday: z.number().int().min(1).max(7).meta({ description: 'As in ISO 8601: 1 is Monday, 7 is Sunday.' }),
    time: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Must be a time such as 09:30.')
      .meta({ description: "HH:MM on the clock of the queue's time zone." }),
  })
  .meta({ id: 'NewWeeklyTime', description: 'A time of each week.' })

const queue = {
  name: line(100),
  timeZone: TimeZone.meta({ description: 'An IANA name.', examples: ['Europe/Berlin'] }),
  times: z
    .array(WeeklyTime)
    .max(TimesAtMost, `At most ${TimesAtMost} times.`)
    .refine(
      (times) => new Set(times.map(({ weekday, time }) => `${weekday} ${time}`)).size === times.length,
      'The same time is listed twice.',
    ),
  channelIds: z
    .array(z.string())
    .min(1, 'Choose at least one channel.')
    .max(50, 'At most 50 channels.')
    .refine(
      (ids) => new Set(ids.map((id) => id.toLowerCase())).size === ids.length,
      'The same channel is listed twice.',
    )
    .pipe(z.array(Id)),
  isDefault: z.literal(true, 'Must be true: a queue stops being the default when another one becomes it.').optional(),
}

/** The body of POST /queues. The first queue is the default, whatever it says. */
export const CreateQueue = z.strictObject(queue)

/** What the page of a queue changes with one form. */
export const QueueSettings = CreateQueue.pick({ name: true, timeZone: true, channelIds: true })

/** A change of a queue. Fields that are left out stay. `times` and `channelIds` replace the old lists. */
export const UpdateQueue = z.strictObject({
  id: Id,
  name: queue.name.optional(),
  timeZone: queue.timeZone.optional(),
  times: queue.times.optional(),
  channelIds: queue.channelIds.optional(),
  isDefault: queue.isDefault,
  paused: z.boolean().optional().meta({
    description: 'True: its unsent posts become drafts. False: they get the next free times, in their order.',
  }),
})

/** Weekly times that a queue gets beside those that it has. */
export const AddTimes = z.strictObject({ id: Id, times: queue.times.min(1) })
/** A weekly time that a queue loses. */
export const RemoveTime = z.strictObject({ id: Id, time: WeeklyTime })

export const ListQueues = z.strictObject({ limit, cursor })
export const NextTimes = z.strictObject({ id: Id, limit: limit.unwrap().default(10) })

/** The new order of some posts that wait in a queue: they exchange their times. */
export const Reorder = z.strictObject({ id: Id, postIds: z.array(Id).min(1).max(500) })

/** New times for waiting posts, as the person has seen and confirmed them. */
export const MoveWaiting = z.strictObject({
  id: Id,
  moves: z.array(z.strictObject({ postId: Id, date: Instant })).max(10_000),
})
