import type { ReactNode } from 'react'

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** What the pages of queues say. */
export const queueStrings = {
  pageTitle: 'Queues · Punctual',
  title: 'Queues',
  lead: 'Weekly times for your channels. Each post takes the next free time.',
  newQueue: 'New queue',
  deleted: 'The queue is deleted. Its posts keep their dates.',
  none: {
    title: 'No queues yet',
    lead: 'A queue has weekly times, such as weekdays at 09:00. Add a post, and it goes out at the next free time.',
    noChannels: (connect: ReactNode) => <>A queue needs a channel. {connect} first.</>,
    connect: 'Connect a channel',
  },
  weekdays,
  weekday: (weekday: number) => weekdays[weekday - 1] ?? '',

  card: {
    isDefault: 'Default',
    paused: 'Paused',
    /** Where the queue uses another zone than the person. */
    datesIn: (zone: string) => `Dates are in your time zone, ${zone}.`,
    zone: (zone: string, times: number) =>
      `${zone} · ${times === 0 ? 'no times' : times === 1 ? '1 time a week' : `${times} times a week`}`,
    next: (time: ReactNode) => <>Next free time: {time}</>,
    noTimes: 'Add times to use this queue.',
    pause: 'Pause',
    resume: 'Resume',
  },
  paused: (name: string) => `${name} is paused. Its posts are drafts. They get new times when you resume it.`,
  resumed: (name: string) => `${name} is resumed. Its posts have new times.`,

  form: {
    newTitle: 'New queue',
    newPageTitle: 'New queue · Punctual',
    settings: 'Settings',
    name: 'Name',
    timeZone: 'Time zone',
    timeZoneHint: 'The times of the queue use this zone, also when clocks change.',
    channels: 'Channels',
    create: 'Create queue',
    save: 'Save',
    cancel: 'Cancel',
    saved: 'Saved.',
    makeDefault: 'Make default',
    makeDefaultLead: 'Posts go into the default queue unless you choose another one.',
    delete: 'Delete queue',
    confirmDelete: (name: string) => `Delete ${name}?`,
    confirmLead: 'Its posts leave the queue and keep their dates.',
    keep: 'Keep it',
  },

  queuePageTitle: (name: string) => `${name} · Queues · Punctual`,
  created: 'The queue is created. Now add its times.',
  pausedLead: 'This queue is paused. Its posts are drafts. They get new times when you resume it.',

  times: {
    title: 'Weekly times',
    lead: (zone: string) => `In ${zone}. Waiting posts keep their dates when you change the times.`,
    none: 'No times',
    remove: (weekday: string, time: string) => `Remove ${weekday} ${time}`,
    time: 'Time',
    days: 'Days',
    add: 'Add time',
    noDay: 'Choose at least one day.',
  },

  moves: {
    title: 'Move waiting posts?',
    lead: 'These posts wait at times that the queue no longer has. You can move them to its next times.',
    fromTo: (from: ReactNode, to: ReactNode) => (
      <>
        From {from} to {to}
      </>
    ),
    submit: (count: number) => (count === 1 ? 'Move 1 post' : `Move ${count} posts`),
    moved: 'The posts have new times.',
  },

  waiting: {
    title: 'Waiting posts',
    drafts: 'Drafts in this queue',
    lead: 'Drag a post, or use the arrows, to change the order. The posts swap times.',
    none: 'No posts are waiting.',
    all: 'All posts of this queue',
    next: 'Next free times',
    noneFree: 'No free times.',
    noText: 'No text',
    up: (text: string) => `Move up: ${text}`,
    down: (text: string) => `Move down: ${text}`,
    moved: (place: number, count: number) => `Moved to place ${place} of ${count}.`,
  },

  composer: {
    add: 'Add to queue',
    queue: 'Queue',
    next: (time: string) => `Next: ${time}`,
    choice: (name: string, time: string) => `${name}, next: ${time}`,
    channels: (count: number) => `${count} of its channels`,
    /** `queue` is a link. */
    paused: (queue: ReactNode) => <>The queue {queue} is paused.</>,
    /** `names` of channels, `count` of them. `queue` is a link. */
    notInQueue: (names: string, count: number, queue: ReactNode) => (
      <>
        You can't add this post to the queue {queue}, because {names} {count === 1 ? 'is' : 'are'} not in it.
      </>
    ),
    notInOneQueue: (names: string, count: number, queue: ReactNode) => (
      <>
        You can't add this post to a queue, because none has all its channels: {names} {count === 1 ? 'is' : 'are'} not
        in {queue}.
      </>
    ),
  },
  leaves: (name: string) => `This takes the post out of the queue ${name}, and frees its time there.`,
  draftOf: (name: string) =>
    `This draft waits in the queue ${name}. If you schedule it or change its date, it leaves the queue.`,
}
