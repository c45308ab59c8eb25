/** What the public pages of a feed say. */
export const feedStrings = {
  notFound: 'Not found · Punctual',
  itemPageTitle: (start: string, feed: string) => `${start} · ${feed}`,
  atom: 'Atom',
  json: 'JSON Feed',
  none: 'Nothing published yet.',
  unnamedVideo: 'Video',
}
