/** What the page Find posts says. */
export const findStrings = {
  pageTitle: 'Find posts · Punctual',
  title: 'Find posts',
  search: 'Find posts',
  find: 'Find',
  words: 'Words',
  wordsHint: 'You can enter parts of words. We also search texts for single channels.',
  channel: 'Channel',
  queue: 'Queue',
  status: 'Status',
  tag: 'Tag',
  author: 'Author',
  from: 'From',
  to: 'To',
  notListed: 'Not in the list', // a channel, for example, that is disconnected
  clear: 'Clear',
  filters: 'Filters',
  zone: (zone: string) => `Dates are in the time zone ${zone}.`,
  found: 'Results',
  noMatch: { title: 'No posts found', text: 'Try fewer words or filters.' },
  paging: { first: 'First page', next: 'Next page' },
}
