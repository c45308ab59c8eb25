import type { ReactNode } from 'react'
import type { DeliveryState } from '../../db/schema/ledger.ts'

/** What the page /operations says. */
export const operationsStrings = {
  pageTitle: 'Operations · Punctual',
  title: 'Operations',
  lead: 'All organisations on this installation.',
  unknownForm: "We couldn't read this form.",

  // After a button was pressed.
  done: {
    pause: 'Paused. Posts that are being sent now will finish.',
    resume: 'Resumed. Due posts go out now.',
    resume_in_all: 'Resumed, but all sending is still stopped.',
    resume_in_network: 'Resumed, but its network is still paused.',
    resume_in_part: 'Resumed, except what is still paused or suspended below.',
    retry: 'Retrying now.',
    wake: 'Wake-up sent to the workers.',
  },

  sending: {
    title: 'Sending',
    stopped: 'Stopped',
    on: 'On',
    onText: 'The workers send due posts.',
    paused: (at: ReactNode) => <>An operator paused all sending on {at}. New posts are accepted and wait.</>,
    restored: (at: ReactNode) => (
      <>
        This database is a restored backup. We noticed that on {at}. Posts that were overdue in it may have been
        published after the backup was made. They need a decision by someone in their organisation, under Needs review.
        Resume sends all other posts.
      </>
    ),
    resume: 'Resume',
    pauseAll: 'Pause all',
  },
  confirmPause: {
    title: {
      all: (_name: string) => 'Pause all sending?',
      network: (name: string) => `Pause ${name}?`,
      channel: (_name: string) => 'Pause this channel?',
    },
    lead: {
      all: 'No posts go out until you resume, in any organisation. Posts that become due wait. Every page says that sending is paused.',
      network:
        'No posts go out to this network until you resume. Every page of an organisation with a channel there says so.',
      channel: 'No posts go out to this channel until you resume. Every page of its organisation says so.',
    },
    does: { all: 'Pause all sending', network: 'Pause it', channel: 'Pause it' },
    keeps: 'Keep sending',
  },

  workers: {
    title: 'Workers',
    none: (command: ReactNode) => <>No worker is running, so nothing is sent. Start one with {command}.</>,
    name: (host: string, pid: number) => `${host}, process ${pid}`,
    silent: 'Silent',
    alive: 'Alive',
    state: (startedAt: ReactNode, concurrency: number, seenAt: ReactNode) => (
      <>
        Since {startedAt} · at most {concurrency} at once · last heartbeat {seenAt}
      </>
    ),
  },

  lateness: {
    title: 'Queue and lateness',
    nothingOverdue: 'Nothing is overdue.',
    overdue: (count: number, age: string, since: ReactNode) => (
      <>
        {count === 1 ? '1 delivery is overdue' : `${count.toLocaleString('en')} deliveries are overdue`}, the oldest for{' '}
        {age}, since {since}.
      </>
    ),
    ago24h: '24 h ago',
    ago12h: '12 h ago',
    now: 'now',
    waiting: {
      title: 'Due but not sent',
      none: 'Due but not sent, over the last 24 hours: nothing waited.',
      most: (count: string, time: string) =>
        `Due but not sent, over the last 24 hours: at most ${count}, in the half hour from ${time}.`,
      caption:
        'The highest count in each half hour, counted once a minute. A mark below the line means that no worker was running.',
    },
    late: {
      title: 'Lateness of sent posts',
      none: 'Lateness of sent posts, over the last 24 hours: nothing went out late.',
      most: (span: string, time: string) =>
        `Lateness of sent posts, over the last 24 hours: at most ${span}, in the half hour from ${time}.`,
      caption: 'Bar: 95 of 100 posts went out within this time after their due time. Line: the latest post.',
    },
    numbers: 'The numbers',
    columns: {
      from: 'Half hour from',
      published: 'Published',
      failed: 'Failed',
      within: '95 of 100 within',
      latest: 'Latest',
      waiting: 'Waiting',
      oldest: 'Oldest',
    },
    noNumber: '–',
  },

  stuck: {
    title: 'Stuck deliveries',
    tab: (name: string, count: number) => `${name} ${count.toLocaleString('en')}`,
    kinds: {
      overdue: { name: 'Overdue', text: "Due but not sent yet. These don't need a decision." },
      uncertain: {
        name: 'Uncertain',
        text: "Sent, but the outcome is unknown. We're checking with the network.",
      },
      needs_review: {
        name: 'Needs review',
        text: 'Someone in the organisation must decide. The post may already be published, or it could not be sent in time.',
      },
      held: { name: 'Waiting for reconnect', text: 'Someone in the organisation must reconnect the channel.' },
      suspects: {
        name: 'Suspects',
        text: 'A worker crashed while sending these. They are tried one at a time, at most three times.',
      },
    },
    none: 'None.',
    firstPage: 'Back to oldest',
    nextPage: 'Later',
    dueAt: (at: ReactNode) => <>due {at}</>,
    attempts: (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`),
    crashes: (count: number) => (count === 1 ? '1 worker crashed' : `${count} workers crashed`),
    nextAttempt: (at: ReactNode) => <>next attempt {at}</>,
    channelIsPaused: 'its channel is paused',
    organisationIsSuspended: 'its organisation is suspended',
    retry: 'Retry',
    wake: 'Wake now',
    resumeChannel: 'Resume channel',
    pauseChannel: 'Pause channel',
  },

  networks: {
    title: 'Networks',
    none: 'No worker has run yet.',
    inProgress: (count: number, limit: number | null) =>
      limit === null ? `${count} in progress, no limit` : `${count} in progress, at most ${limit} at once`,
    pausedOn: (at: ReactNode) => <>paused on {at}</>,
    resume: 'Resume network',
    pause: 'Pause network',
    limit: (command: ReactNode) => <>{command} limits how many posts all workers together send to a network at once.</>,
  },

  pausedChannels: {
    title: 'Paused channels',
    pausedOn: (at: ReactNode) => <>paused on {at}</>,
    resume: 'Resume channel',
    more: (shown: number, count: number) =>
      `The ${shown} channels that were paused first, of ${count.toLocaleString('en')}.`,
  },

  suspendedOrganisations: {
    title: 'Suspended organisations',
    suspendedOn: (at: ReactNode) => <>suspended on {at}</>,
    more: (shown: number, count: number) =>
      `The ${shown} organisations that were suspended first, of ${count.toLocaleString('en')}.`,
    unsuspend: (command: ReactNode) => (
      <>{command} ends a suspension. Overdue posts then need a decision by someone in the organisation.</>
    ),
  },

  states: { title: 'In progress' },
  ofOrganisation: (name: string) => `of ${name}`,
}

/** What each state of a delivery is called. */
export const stateStrings: Record<DeliveryState, string> = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  claimed: 'Claimed',
  sending: 'Sending',
  uncertain: 'Uncertain',
  held: 'Waiting for reconnect',
  published: 'Published',
  failed: 'Failed',
  needs_review: 'Needs review',
  cancelled: 'Cancelled',
}
