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
    keptHere: "We can't save your text on the server now. It is kept in this browser, and we go on trying.",
    refused: "We can't save this text on the server as it is. It is kept in this browser.",
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
  },
  unfinished: {
    title: 'Unfinished texts',
    goOn: 'Go on',
    goOnWith: (text: string) => `Go on: ${text}`,
    discard: 'Discard',
    discardThe: (text: string) => `Discard: ${text}`,
    noText: 'Without text',
  },

  channels: {
    label: 'Channels',
    none: (connect: ReactNode) => <>No channels yet. {connect} to schedule posts. You can save a draft without one.</>,
    connect: 'Connect a channel',
    needsReconnect: 'needs to be reconnected',
    paused: 'paused by the operator',
    disconnected: 'disconnected',
  },
  text: {
    label: 'Text',
    length: (channel: string, length: number, limit: number) => `${channel}: ${length} of ${limit}`,
    tooLong: (channel: string, length: number, limit: number, by: number, isBytes: boolean) =>
      `${channel}: ${length} of ${limit}, ${by} ${unit(by, isBytes)} too long`,
    tooLongFor: (channels: string[]) => `Too long for ${channels.join(', ')}.`,
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
    uploading: (count: number) => (count === 1 ? 'Uploading 1 file…' : `Uploading ${count} files…`),
    refused: (file: string, problem: string) => `${file}: ${problem}`,
    notSent: 'Upload failed. Try again.',
    notAccepted: 'Upload failed. Reload this page.',
  },
  date: {
    date: 'Date',
    time: 'Time',
    zone: (zone: string, offset: string) => `${zone}, ${offset}`,
    skipped: (zone: string, offset: string, time: string) =>
      `${zone}, ${offset}. That time doesn't exist: clocks change. The post goes out at ${time}.`,
  },
  buttons: {
    saveChanges: 'Save changes',
    schedule: 'Schedule',
    publishNow: 'Publish now',
    saveDraft: 'Save draft',
    deleteDraft: 'Delete draft',
    unschedule: 'Unschedule',
    uploading: 'Files are still uploading.',
  },
}

// Networks that count graphemes or code points: people call both characters.
function unit(count: number, isBytes: boolean): string {
  if (isBytes) return count === 1 ? 'byte' : 'bytes'
  return count === 1 ? 'character' : 'characters'
}
