import type { ReactNode } from 'react'
import type { PostStatus } from '../../jobs/ledger/post-view.ts'

const statuses: Record<PostStatus, string> = {
  DRAFT: 'Draft',
  SCHEDULED: 'Scheduled',
  PUBLISHING: 'Publishing',
  PUBLISHED: 'Published',
  PARTIALLY_PUBLISHED: 'Partly published',
  HELD: 'Waiting for reconnect',
  FAILED: 'Failed',
  NEEDS_REVIEW: 'Needs review',
  CANCELLED: 'Cancelled',
}

/** What the list of posts says, and each post in it. */
export const postListStrings = {
  pageTitle: 'Posts · Punctual',
  title: 'Posts',
  newPost: 'New post',
  draftDeleted: 'Draft deleted.',

  filters: {
    label: 'Filter',
    upcoming: 'Upcoming',
    drafts: 'Drafts',
    published: 'Published',
    failed: 'Failed',
    cancelled: 'Cancelled',
    all: 'All',
  },
  sections: {
    needAttention: (count: number) => (count === 1 ? '1 post needs attention' : `${count} posts need attention`),
    allNeedingAttention: (count: number) => `Show all ${count} posts that need attention`,
    late: 'Late',
    allLate: (count: number) => `Show all ${count} late posts`,
    drafts: 'Drafts',
    allDrafts: (count: number) => `Show all ${count} drafts`,
  },

  /** `date` is the day as it is written out. */
  day: {
    none: 'No date',
    yesterday: (date: string) => `Yesterday, ${date}`,
    today: (date: string) => `Today, ${date}`,
    tomorrow: (date: string) => `Tomorrow, ${date}`,
  },
  row: {
    noDate: 'No date',
    noText: 'No text',
    tags: 'Tags',
    queue: (name: string) => `From the queue ${name}`,
    files: (count: number) => (count === 1 ? '1 file' : `${count} files`),
    channels: (names: string[]) => `On ${names.join(', ')}`,
    moreChannels: (count: number) => `+${count}`,
  },

  noneOfStatus: { title: 'No posts here', text: 'No posts have this status.' },
  noChannels: {
    title: 'Two steps to your first post',
    text: 'Connect a channel, which is an account that you publish to. Then write a post and choose a time.',
    connect: 'Connect a channel',
  },
  none: { title: 'No posts scheduled', write: 'Write a post', wait: 'Scheduled posts appear here.' },
  paging: { label: 'Pages', first: 'First page', next: 'Next page' },
}

/** What the page of a post says. */
export const postStrings = {
  pageTitle: 'Post · Punctual',
  statuses,
  title: 'Post',
  draftTitle: 'Draft',
  noDate: 'No date yet',
  dateAndAuthor: (date: ReactNode, author: string) => (
    <>
      {date} · by {author}
    </>
  ),
  dateAndKey: (date: ReactNode, key: string) => (
    <>
      {date} · by {key} (API key)
    </>
  ),
  fromQueue: (queue: ReactNode) => <>From the queue {queue}</>,
  leftQueue: (name: string) => `It left the queue ${name}.`,
  missedQueue: (name: string) =>
    `This time of the queue ${name} is no longer free. The post goes out at this time, but it is not in the queue.`,
  isCancelled: "We won't send this post. To send it at another time, duplicate it.",
  retry: 'Retry',
  unschedule: 'Unschedule',
  cancel: "Don't send", // nothing of it is scheduled any more
  undo: 'Undo',
  isNow: (status: string) => `Nothing was changed. This post is now: ${status}.`,
  duplicate: 'Duplicate',
  ownText: (channel: ReactNode) => <>Text for {channel}</>,
  ownMedia: (channel: ReactNode) => <>Media for {channel}</>,
  noMedia: 'No media',
  unnamedVideo: 'Video without alt text',
  unnamedImage: 'Image without alt text',

  /** What was just done, by the value of the button that did it. */
  done: {
    schedule: 'The post is scheduled.',
    queue: 'The post is in the queue.',
    now: 'Publishing…',
    draft: 'The draft is saved.',
    save: 'Your changes are saved.',
    cancel: "We won't send this post.",
    unschedule: 'Unscheduled.',
    'schedule-again': 'The post is scheduled again.',
    restore: 'The draft is back.',
    retry: 'Retrying…',
    published: 'Marked as published.',
    not_published: 'Publishing…',
    cancelled: "We won't send it to that channel.",
  },

  deliveries: {
    label: 'Deliveries',
    viewPost: 'View post',
    operatorPaused: 'Scheduled, but the operator has paused sending',
    nextAttempt: (time: ReactNode) => <>Next attempt {time}</>,
    checking: 'Checking if it was published',
    sending: 'Sending',
    goToChannel: 'Go to the channel',
  },
  review: {
    label: (channel: string) => `Decide on ${channel}`,
    sendNow: 'Send now',
    link: (network: string) => `Check ${network}. If the post is there, paste its link (optional)`,
    wasPublished: 'It was published',
    wasNotPublished: "It wasn't: send it",
    cancel: "Don't send",
  },

  /** Above the composer of a post that failed, or that some channels published. */
  resend: {
    failed: (channels: string[]) =>
      channels.length === 1 ? `${channels[0]} failed.` : `${channels.length} channels failed.`,
    sendsAgain: (count: number) => `Saving sends this post ${count === 1 ? 'there' : 'to them'} again.`,
    sendsAgainOrLater: (count: number) =>
      `Saving sends this post ${count === 1 ? 'there' : 'to them'} again, at once or at a new time that you choose.`,
    held: (channels: string[]) =>
      channels.length === 1
        ? `${channels[0]} waits for a reconnect. Then it gets the changed post.`
        : `${channels.length} channels wait for a reconnect. Then they get the changed post.`,
    keeps: (channels: string[]) =>
      channels.length === 1
        ? `${channels[0]} already published it and keeps its text.`
        : `${channels.length} channels already published it and keep their text.`,
    save: 'Save and send',
    saveChanges: 'Save changes',
    moved:
      'The status of this post changed while you were writing. Nothing was saved. Check above what saving does now.',
  },

  attempts: {
    title: (count: ReactNode) => <>Attempts {count}</>,
    outcomes: {
      published: 'Published',
      later: 'Not sent, retried later',
      refused: 'Refused',
      reconnect: 'Connection no longer accepted',
      unknown: 'Outcome unknown',
      internal: 'Not sent, error on our side',
      lost: 'Interrupted',
      edited: 'Stopped by a change of the post or channel',
    },
    inProgress: 'In progress',
    status: (status: number) => `HTTP ${status}`,
    found: (time: ReactNode) => <>Found on the account {time}</>,
  },
}
