import type { ReactNode } from 'react'

/** What the calendar says. */
export const calendarStrings = {
  pageTitle: 'Calendar · Punctual',
  title: 'Calendar',
  newPost: 'New post',
  zone: (zone: string) => `All times use the time zone ${zone}.`,
  steps: { label: 'Days', previous: 'Previous', today: 'Today', next: 'Next' },
  views: { label: 'View', month: 'Month', week: 'Week', day: 'Day', list: 'List' },
  filters: {
    label: 'Filter',
    channel: 'Channel',
    allChannels: 'All channels',
    notListed: 'Not in the list', // it is disconnected
    status: 'Status',
    allStatuses: 'All statuses',
    tag: 'Tag',
    allTags: 'All tags',
    freeTimes: 'Free times',
    show: 'Show',
  },
  tooMany:
    'There are more than 2,000 posts here. You see the first 2,000. To see the others, choose a channel, a status, a tag or a shorter view.',
  tooManyFree:
    'There are more than 500 free times here. You see the first 500. To see the others, choose a shorter view.',
  notLoaded: "We couldn't load the calendar. Here are the posts as a list.",
  legend: 'What the icons mean',

  none: { title: 'No posts here', text: 'No posts are due on these days.' },
  pages: {
    label: 'Pages of the list',
    shown: (first: number, last: number, all: number) => `${first} to ${last} of ${all}`,
    previous: 'Previous page',
    next: 'Next page',
  },
  moreOfDay: (count: number) => `+${count} more`,
  moreOfDayLong: (count: number) => `${count} more on this day`,
  openDay: (day: string) => `Open ${day}`,
  noText: 'No text',
  on: (channels: string[]) => `On ${channels.join(', ')}`,
  past: 'This time is in the past. Choose a later time.',

  queue: {
    in: (name: string | null) => (name === null ? 'From a queue' : `From the queue ${name}`),
    freeTime: 'Free time',
    freeTimeOf: (name: string | null) => (name === null ? 'Free time' : `Free time of ${name}`),
    /** Where there is no room for all of it, the queue: its icon says the rest, and screen readers do. */
    freeTimeInShort: (name: string | null) =>
      name === null ? (
        'Free time'
      ) : (
        <>
          <span className="sr-only">Free time of </span>
          {name}
        </>
      ),
    takes: (name: string, time: ReactNode) => (
      <>
        Schedule takes this free time of the queue {name}: {time}. With another time, or with a channel that the queue
        does not have, the post is not in the queue.
      </>
    ),
  },
  post: {
    open: 'Open post',
    close: 'Close',
  },
  move: {
    link: 'Move to…',
    linkOf: (text: string) => `Move to…: ${text}`,
    title: 'Move to…',
    date: 'Date',
    time: 'Time',
    submit: 'Move',
    undo: 'Undo',
    incomplete: 'Enter a date and a time.',
    leaves: (name: string | null) =>
      `With another time, this post leaves ${name === null ? 'its queue' : `the queue ${name}`}.`,
    there: (time: string) => `Moved to ${time}.`,
    later: (time: string) => `The clocks change that night and skip this time. Moved to ${time}.`,
    back: (time: string) => `Moved back to ${time}.`,
    same: (time: string) => `Nothing was changed. The time of this post is ${time}.`,
    queue: {
      left: (name: string | null) => (name === null ? 'It left its queue.' : `It left the queue ${name}.`),
      again: (name: string | null) =>
        name === null ? 'It is in its queue again.' : `It is in the queue ${name} again.`,
      noLonger: (name: string | null) =>
        name === null ? 'It is no longer in its queue.' : `It is no longer in the queue ${name}.`,
    },
  },
}
