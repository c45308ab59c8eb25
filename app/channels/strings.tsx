import type { ReactNode } from 'react'

type Counts = { now: number; sent: number; later: number; person: number }

/** What the pages of channels say. */
export const channelStrings = {
  pageTitle: 'Channels · Punctual',
  title: 'Channels',
  lead: 'The accounts that you publish to.',
  connected: (channel: string, counts: Counts) => [`${channel} is connected.`, ...postsOf(counts)].join(' '),
  showPosts: 'Show posts',
  writePost: 'Write a post',
  disconnected: 'The channel is disconnected.',
  disconnectedAndEnding:
    'The channel is disconnected. We are ending our access to the account. If that fails, Settings › Activity says so.',
  disconnectedChannels: 'Disconnected',
  none: {
    title: 'No channels yet',
    manage: 'A channel is an account that you publish to. Start with a feed: it needs no account, only a name.',
    wait: 'A channel is an account that you publish to. Ask an owner or admin of this organisation to connect one.',
  },

  row: {
    networkAndAddress: (network: string, address: ReactNode) => (
      <>
        {network} · {address}
      </>
    ),
    publicPage: 'Public page',
    needsReconnect: 'Needs to be reconnected',
    paused: 'Paused by the operator. Its posts wait.',
    disconnected: 'Disconnected',
    reconnect: 'Reconnect',
    disconnect: 'Disconnect',
    ownQueue: 'Create a queue for this channel',
  },

  connect: {
    button: (network: string) => `Connect ${network}`,
    newTitle: (network: string) => `New ${network} channel`,
    reconnectTitle: (channel: string) => `Reconnect ${channel}`,
    feed: {
      lead: 'A public page with an Atom and a JSON feed. You need no account elsewhere.',
      name: 'Name',
      nameHint: 'Readers see it at the top of the feed.',
    },
    mastodon: {
      lead: 'Mastodon, GoToSocial, Pleroma and other servers with the same API.',
      server: 'Server',
    },
    bluesky: {
      lead: 'Create an app password in Bluesky under Settings › Privacy and security › App passwords.',
      handle: 'Handle',
      appPassword: 'App password',
      server: 'Server',
      serverHint: 'Leave it empty and we find it from the handle.',
    },
    submit: 'Connect',
    continue: 'Continue',
    close: 'Close',
    continueLead: (host: string) => `${host} asks if Punctual may post. Then it sends you back here.`,
    continueTo: (host: string) => `Continue to ${host}`,
  },
  notConnected: {
    pageTitle: 'Not connected · Punctual',
    title: 'The channel is not connected',
    back: 'Back to channels',
  },

  disconnect: {
    title: (channel: string) => `Disconnect ${channel}?`,
    unsent: (count: number) =>
      count === 1
        ? '1 post has not gone out there yet. If it is being sent now, it still goes out.'
        : `${count} posts have not gone out there yet. Posts that are being sent now still go out.`,
    noneUnsent: 'No posts are waiting for this channel.',
    choice: 'Waiting posts',
    cancel: 'Cancel them',
    cancelHint: 'You can still read them. They never go out on this channel.',
    hold: 'Hold them',
    holdHint: 'They wait until this channel is connected again, or you change them.',
    submit: 'Disconnect channel',
    keep: 'Keep it',
  },
}

/** A sentence for each kind of post that there is on a channel that was connected again. */
function postsOf({ now, sent, later, person }: Counts): string[] {
  const sentences = [
    [now, '1 post is being sent or checked.', `${now} posts are being sent or checked.`],
    [sent, '1 post was published since.', `${sent} posts were published since.`],
    [later, '1 post is scheduled.', `${later} posts are scheduled.`],
    [person, '1 post needs attention.', `${person} posts need attention.`],
  ] as const
  return sentences.flatMap(([count, one, many]) => (count === 0 ? [] : count === 1 ? [one] : [many]))
}
