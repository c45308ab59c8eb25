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
    channels: 'Channels',
    settings: 'Settings',
    operations: 'Operations',
  },
  signOut: 'Sign out',
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

/** What the page /login says. */
export const signInStrings = {
  pageTitle: 'Sign in · Punctual',
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  submit: 'Sign in',
  newHere: (createAccount: ReactNode) => <>New here? {createAccount}</>,
  createAccount: 'Create an account',
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
}
