import type { ReactNode } from 'react'

/** What the frame of every page says. */
export const shellStrings = {
  pageTitle: 'Punctual',
  skipToContent: 'Skip to content',
  organisation: {
    label: 'Organisation',
    none: 'Punctual', // instead of its name
    home: (name: string) => `${name}: home`,
    current: (name: string) => `Organisation: ${name}`,
  },
  navigation: {
    label: 'Main',
    posts: 'Posts',
    calendar: 'Calendar',
    queues: 'Queues',
    channels: 'Channels',
    settings: 'Settings',
    operations: 'Operations',
  },
  signOut: 'Sign out',
  signOutUnsaved: 'The server does not have your last text. If you sign out, it is lost. Sign out?',
  suspended:
    "The operator of this site has suspended your organisation. You can read everything, but you can't add posts or files. Nothing is sent. Your posts are kept. Ask the operator what to do.",
  /** `names`: the networks and channels that are paused; none means all. */
  paused: (names: string[], since: ReactNode) => (
    <>
      Sending {names.length > 0 ? `to ${listed(names)} ` : ''}has been paused since {since}. Posts wait and go out when
      the operator resumes sending.
    </>
  ),
}

// At most three, so that it stays one line.
function listed(names: string[]): string {
  if (names.length > 3) return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names.join()
}

/** What the error page says. */
export const errorPageStrings = {
  notFoundPageTitle: 'Not found · Punctual',
  pageTitle: 'Something went wrong · Punctual',
  title: {
    forbidden: "You can't do this",
    notFound: 'Page not found',
    wait: 'Please wait a moment',
    ours: 'Something went wrong',
    other: "That didn't work",
  },
  notFound: 'The link may be wrong, or the page was deleted.',
  ours: 'Something broke on our side. Your scheduled posts are safe. Try again. If it keeps happening, tell your operator.',
  request: (id: ReactNode) => <>Request {id}</>,
  tryAgain: 'Try again',
  toPosts: 'Go to posts',
}

/** What the page / says to visitors. */
export const landingStrings = {
  pageTitle: 'Punctual: schedule social posts',
  title: 'Schedule posts. They go out on time.',
  promises: [
    'Write once, choose channels and a time: Mastodon, Bluesky, or a feed of your own.',
    'A post that Punctual accepted is never lost, and never sent twice by us.',
    'You can always see what happened to it: its link on each channel, or the reason why it is not there.',
  ],
  signUp: 'Create your account',
  signIn: 'Sign in',
  picture: 'The list of posts in Punctual: two are published, others are scheduled for the next days.',
}

/** What the page /login says. */
export const signInStrings = {
  pageTitle: 'Sign in · Punctual',
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  submit: 'Sign in',
  newHere: (createAccount: ReactNode) => <>New here? {createAccount}</>,
  createAccount: 'Create an account',
  forgot: 'Forgot your password?',
}

/** What the page /signup says. */
export const signUpStrings = {
  pageTitle: 'Create your account · Punctual',
  title: 'Create your account',
  lead: 'Schedule posts. They go out on time.',
  name: 'Name',
  email: 'E-mail',
  password: 'Password',
  passwordHint: 'At least 10 characters, and not easy to guess.',
  organisation: 'Organisation',
  organisationHint: 'Your company, your club, or your own name.',
  submit: 'Create account',
  closed: "You can't sign up on this site. Ask its operator for an account.",
  haveAccount: (signIn: ReactNode) => <>Have an account? {signIn}</>,
  signIn: 'Sign in',
  sent: (email: string) => `We sent a mail to ${email}. Open the link in the mail to continue.`,
  sentHint:
    'The link works once, for 24 hours. If no mail arrives, check your spam folder. You can ask for 3 mails an hour.',
  otherAddress: 'Use another address',
}

/** What the page of the link says that creates an account. */
export const confirmStrings = {
  pageTitle: 'Finish your sign-up · Punctual',
  title: 'Finish your sign-up',
  lead: 'Enter the password that you chose when you signed up.',
  email: 'E-mail',
  name: 'Name',
  organisation: 'Organisation',
  password: 'Password',
  submit: 'Create account',
  notYou: "If you didn't sign up, close this page. No account is created.",
  hasAccount: (email: string) => `You already have an account with ${email}. Sign in, or reset your password.`,
  signIn: 'Sign in',
  reset: 'Reset your password',
  expired: 'This link is too old, or was already used. If you used it, sign in.',
  incomplete: 'This link is incomplete. Copy all of it from the mail.',
  again: 'Sign up again',
}

/** What the pages /forgot and /reset say. */
export const resetStrings = {
  pageTitle: 'Reset your password · Punctual',
  title: 'Reset your password',
  lead: "Enter your e-mail address. We'll send you a link to choose a new password.",
  email: 'E-mail',
  submit: 'Send link',
  sent: "If there is an account with this address, we've sent a link.",
  sentHint: 'The link works once, for 1 hour. If no mail arrives, check your spam folder.',
  noMail: "This site can't send mail. Ask the person who runs it.",
  back: 'Back to sign in',
  password: 'New password',
  passwordHint: 'At least 10 characters, and not easy to guess.',
  change: 'Change password',
  changed: "Password changed. You're signed out everywhere.",
  signIn: 'Sign in',
  expired: 'This link is too old, or was already used.',
  incomplete: 'This link is incomplete. Open the whole link from the mail, or ask for a new one.',
  again: 'Send a new link',
}

/** What the page of the link says that gives an account another address. */
export const newAddressStrings = {
  pageTitle: 'Confirm your new e-mail address · Punctual',
  title: 'Confirm your new e-mail address',
  lead: 'Press the button to use the new address for signing in and for our mails.',
  current: 'Current address',
  new: 'New address',
  submit: 'Use this address',
  changed: (email: string) => `Your account has the address ${email} now.`,
  notYou: "If you didn't ask for this, close this page. Then nothing changes.",
  expired: 'This link is too old, was already used or replaced by a newer one, or is for another account.',
  incomplete: 'This link is incomplete. Copy all of it from the mail.',
  onward: 'Go to your account',
}

/** What the page of the link says that verifies an address. */
export const verifyStrings = {
  pageTitle: 'Verify your e-mail address · Punctual',
  title: 'Verify your e-mail address',
  lead: 'Press the button to verify that this address is yours.',
  incomplete: 'This link is incomplete. Copy all of it from the mail.',
  submit: 'Verify address',
  verified: (email: string) => `${email} is verified.`,
  onward: 'Go to posts',
}
