import { z } from 'zod'
import type * as channel from '../../jobs/ledger/channel-view.ts'
import { Count, Id, Instant } from '../answers.ts'
import { channelStatuses } from './forms.ts'

const Limits = z
  .object({
    textLength: Count,
    textUnit: z.enum(['characters', 'graphemes']),
    textBytes: Count.optional().meta({ description: 'A second limit on the text, in bytes of UTF-8.' }),
    urlsCountAs: Count.optional().meta({ description: 'Each link counts as at least this many.' }),
    shortensUrls: z
      .boolean()
      .optional()
      .meta({ description: 'Each link counts as no more than `urlsCountAs`, however long it is.' }),
    mediaCount: Count,
    mediaTypes: z.array(z.string()),
    mediaBytes: Count.optional().meta({ description: 'The largest size of an image.' }),
    videoBytes: Count.optional(),
    videoSeconds: Count.optional(),
    videoAlone: z.boolean().optional().meta({ description: "A video can't be together with other files." }),
    altLength: Count.optional(),
  })
  .meta({ id: 'ChannelLimits', description: 'What the network accepts in one post.' })

export const Channel = z
  .object({
    id: Id,
    network: z.string().meta({ examples: ['mastodon'] }),
    name: z.string(),
    handle: z.string().nullable(),
    url: z.string().nullable(),
    picture: z.string().nullable().meta({ description: "URL of our copy of the account's picture." }),
    status: z.enum(channelStatuses).meta({
      description:
        'PAUSED: the operator has paused this channel, its network, its organisation or the whole site. Scheduled posts wait.',
    }),
    limits: Limits,
    connectedAt: Instant,
  })
  .meta({ id: 'Channel' }) satisfies z.ZodType<channel.Channel>
