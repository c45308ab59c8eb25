import type { ReactNode } from 'react'

/** What the composer says, on the pages of a new post and of one that can still change. */
export const composerStrings = {
  pageTitle: 'New post · Punctual',
  title: 'New post',
  suspended: "You can't create posts while your organisation is suspended.",
  notAllowed: 'Your role lets you view posts, but not write them.',

  saving: {
    saving: 'Saving…',
    saved: 'Your text is saved.',
    savedBeside: (button: string) => `Your text is saved, but not in the post yet. Press ${button}.`,
    waits: 'Not saved yet. See the note above the form.',
    keptHere: "We can't save your text on the server now. It is kept in this browser, and we go on trying.",
    refused: "We can't save this text on the server as it is. It is kept in this browser.",
    tooMany: 'You have 100 unfinished posts. Send or discard one. This text is kept in this browser.',
    notKept: "We can't save your text. Copy it before you leave this page.",
  },
  copy: {
    restored: 'This is your unfinished text.',
    discard: 'Discard it',
    signedOut: 'Sign in again',
    signedOutLead: 'You were signed out. Your text is kept on this page. Sign in to go on.',
    unreachable: "We can't reach the server. Try again.",
    wrongOrganisation: (name: string) =>
      `You now work for another organisation in another tab. This text belongs to ${name}, and it is kept in this browser.`,
    goBack: (name: string) => `Go back to ${name}`,
    thatOrganisation: 'the other organisation',
    sent: 'This post was already created in another tab.',
    showPost: 'Show the post',
    gone: 'This post was deleted in another tab. Your text is still here.',
    left: 'You wrote this text, but the post can no longer be changed.',
    asAnother: 'Make another post of this text',
    otherText: 'There is another text of this post, from another tab or from before. Choose one.',
    postChanged: 'This post was changed while you wrote. This is its text now:',
    keepMine: 'Keep the text in the form',
    useOther: 'Use this text',
    empty: 'No text',
    files: (count: number) => (count === 1 ? '1 file' : `${count} files`),
    ownText: (channel: ReactNode) => <>Text for {channel}:</>,
    ownFiles: (channel: ReactNode, count: number) => (
      <>
        Media for {channel}: {count || 'none'}
      </>
    ),
    unknownChannel: 'another channel',
  },
  unfinished: {
    title: 'Unfinished texts',
    goOn: 'Go on',
    goOnWith: (text: string) => `Go on: ${text}`,
    discard: 'Discard',
    discardThe: (text: string) => `Discard: ${text}`,
    noText: 'No text',
  },

  channels: {
    label: 'Channels',
    noChannels: (connect: ReactNode) => (
      <>No channels yet. {connect} to schedule posts. You can save a draft without one.</>
    ),
    connect: 'Connect a channel',
    search: 'Search channels',
    all: 'Choose all',
    none: 'Choose none',
    chosen: (count: number, all: number) => `${count} of ${all} chosen`,
    noneFound: 'No channels found.',
    needsReconnect: 'Needs a reconnect: posts to it wait.',
    reconnect: 'Reconnect',
    paused: 'Paused by the operator: posts to it wait.',
    disconnected: 'Disconnected: posts to it wait until you connect it again.',
  },
  own: {
    writeText: 'Write a text for this channel',
    text: (channel: ReactNode) => <>Text for {channel}</>,
    useSharedText: 'Use the shared text',
    chooseMedia: 'Choose media for this channel',
    media: (channel: ReactNode) => <>Media for {channel}</>,
    useSharedMedia: 'Use the shared media',
    noMedia: 'This channel gets no media.',
    add: 'Add for this channel only',
    dropHere: (channel: ReactNode) => <>Drop files here for {channel} only</>,
    file: (isVideo: boolean, number: number) => `${isVideo ? 'Video' : 'Image'} ${number}`,
  },
  tags: { label: 'Tags', hint: 'Separate tags with commas. Only your organisation sees them.' },
  text: {
    label: 'Text',
    length: (channel: ReactNode, length: number, limit: number) => (
      <>
        {channel}: {length} of {limit}
      </>
    ),
    tooLong: (channel: ReactNode, length: number, limit: number, by: number, isBytes: boolean) => (
      <>
        {channel}: {length} of {limit}, {by} {unit(by, isBytes)} too long
      </>
    ),
    group: (network: string, count: number) => `${network}, ${count} channels`,
  },
  preview: {
    label: 'Preview',
    channel: 'Channel of the preview',
    of: (network: string) => `Post on ${network}`,
    noChannel: 'Choose a channel to see how the post will look there.',
    empty: 'Nothing to show yet.',
    linkCard: (host: string) => `The network shows a card of ${host}`,
  },
  checks: {
    tooLongFor: (channels: string[]) => `Too long for ${channels.join(', ')}.`,
    mediaNotFor: (channels: string[]) => `These media don't fit ${channels.join(', ')}.`,
    more: (count: number) => `${count} more channels have a similar problem.`,
  },
  media: {
    add: 'Add media',
    image: (number: number) => `Image ${number}`,
    video: (number: number) => `Video ${number}`,
    altText: 'Alt text',
    describeImage: 'Describe this image',
    describeVideo: 'Describe this video',
    removeImage: (number: number) => `Remove image ${number}`,
    removeVideo: (number: number) => `Remove video ${number}`,
    noAltText: (count: number) =>
      count === 1
        ? "1 file has no alt text. Describe it for people who can't see it."
        : `${count} files have no alt text. Describe them for people who can't see them.`,
    altLength: (length: number, limit: number) => `${length} of ${limit}`,
    altTooLong: (channel: string, by: number) => `${by} ${unit(by, false)} too long for ${channel}`,
    moveUp: (file: string) => `Move up: ${file}`,
    moveDown: (file: string) => `Move down: ${file}`,
    moved: (place: number, count: number) => `Moved to place ${place} of ${count}.`,
    dropHere: 'Drop files here to add them',
    uploads: 'Uploads',
    uploading: (count: number) => (count === 1 ? 'Uploading 1 file…' : `Uploading ${count} files…`),
    percent: (percent: number) => `${percent} %`,
    processing: 'Processing…',
    fetching: 'Fetching…',
    cancel: 'Cancel',
    cancelThe: (file: string) => `Cancel upload: ${file}`,
    refused: (file: string, problem: string) => `${file}: ${problem}`,
    refusedCount: (count: number) => (count === 1 ? '1 file was not uploaded.' : `${count} files were not uploaded.`),
    tryAgain: 'Try again',
    tryAgainWith: (file: string) => `Try again: ${file}`,
    remove: 'Remove',
    removeThe: (file: string) => `Remove: ${file}`,
    notSent: 'Upload failed. Try again.',
    notAccepted: 'Upload failed. Reload this page.',
    leave: 'A file is still uploading. If you leave this page, the upload stops. Leave the page?',
    addLink: 'Add from a link',
    link: 'Link to an image or video',
    addThisLink: 'Add',
    noLink: 'Enter a link that starts with https://.',
    linkNotSent: "We can't reach the server. Try again.",
  },
  date: {
    date: 'Date',
    time: 'Time',
    when: 'When',
    whenExample: 'tomorrow 9',
    notUnderstood:
      "We don't understand this time. Write it like “tomorrow 9”, “fri 17:30”, “in 2 hours” or “25 dec 10:00”.",
    dayIsOver: 'This day is in the past. Enter a later one.',
    suggested: (time: string) => `Suggested: ${time}. A draft gets no date until you choose one.`,
    skipped: (time: string) => `The clocks change that night and skip this time. The post goes out at ${time}.`,
    twice: (offset: string) =>
      `The clocks change that night, so this time happens twice. The post goes out the first time, at ${offset}.`,
    past: 'This time is in the past.',
  },
  buttons: {
    saveChanges: 'Save changes',
    schedule: 'Schedule',
    publishNow: 'Publish now',
    saveDraft: 'Save draft',
    deleteDraft: 'Delete draft',
    unschedule: 'Unschedule',
    uploading: 'Files are still uploading.',
    keys: 'Ctrl+Enter, on a Mac ⌘+Enter',
  },
}

// Networks that count graphemes or code points: people call both characters.
function unit(count: number, isBytes: boolean): string {
  if (isBytes) return count === 1 ? 'byte' : 'bytes'
  return count === 1 ? 'character' : 'characters'
}
