import { z } from 'zod'
import { Id, Instant } from '../answers.ts'

const WeeklyTime = z
  .object({
    weekday: z.int().min(1).max(7).meta({ description: 'As in ISO 8601: 1 is Monday, 7 is Sunday.' }),
    time: z.string().meta({ description: "HH:MM on the clock of the queue's time zone.", examples: ['17:30'] }),
  })
  .meta({ id: 'WeeklyTime', description: 'A time of each week.' })

export const Queue = z
  .object({
    id: Id,
    name: z.string(),
    isDefault: z.boolean().meta({ description: 'The queue of posts that name none.' }),
    timeZone: z.string().meta({ description: 'An IANA name.', examples: ['Europe/Berlin'] }),
    times: z.array(WeeklyTime).meta({ description: 'From Monday to Sunday.' }),
    channelIds: z.array(Id).meta({ description: 'Connected channels that the credential can see.' }),
    pausedAt: Instant.nullable().meta({ description: 'While it is paused, its posts are drafts.' }),
  })
  .meta({ id: 'Queue', description: 'Weekly times that posts take, one post a time.' })

export const QueueTimes = z
  .object({ dates: z.array(Instant).meta({ description: 'Free times, soonest first. Empty for a paused queue.' }) })
  .meta({ id: 'QueueTimes', description: 'The next free times of a queue.' })
