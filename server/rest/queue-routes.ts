import { listOf } from '../answers.ts'
import { Queue, QueueTimes } from '../queues/answers.ts'
import type { Route } from './endpoint.ts'

const example = {
  name: 'Weekdays',
  timeZone: 'Europe/Berlin',
  times: [
    { weekday: 1, time: '09:00' },
    { weekday: 5, time: '17:30' },
  ],
  channelIds: ['019a4c12-7d30-7c3e-9f5a-2b1d6c8e4f01'],
}

/** The rows of the public API that are about queues. */
export const queueRoutes: Route[] = [
  {
    method: 'get',
    path: '/queues',
    status: 200,
    does: 'queues.list',
    answer: listOf(Queue),
    query: true,
    about: 'List queues, oldest first',
  },
  {
    method: 'post',
    path: '/queues',
    status: 201,
    does: 'queues.create',
    answer: Queue,
    body: 'json',
    takes: 'NewQueue',
    location: '/queues/',
    refusals: ['all_channels_required', 'too_many_queues', 'unprocessable'],
    about: 'Create a queue. The first one is the default',
    example,
  },
  { method: 'get', path: '/queues/:id', status: 200, does: 'queues.get', answer: Queue, about: 'Read a queue' },
  {
    method: 'patch',
    path: '/queues/:id',
    status: 200,
    does: 'queues.update',
    answer: Queue,
    body: 'json',
    takes: 'QueueChanges',
    refusals: ['all_channels_required', 'unprocessable'],
    about: 'Change a queue, or pause and resume it. New times move no post that is already in the queue',
    example: { times: example.times },
  },
  {
    method: 'delete',
    path: '/queues/:id',
    status: 204,
    does: 'queues.remove',
    refusals: ['all_channels_required', 'queue_is_default'],
    about: 'Delete a queue. Its posts keep their dates',
  },
  {
    method: 'get',
    path: '/queues/:id/next',
    status: 200,
    does: 'queues.next',
    answer: QueueTimes,
    query: true,
    about: 'List the next free times of a queue. A paused queue has none',
  },
]
