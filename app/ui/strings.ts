/** What these components say themselves. Everything about a noun of the product comes in by their props. */
export const uiStrings = {
  any: 'Any', // the choice of a filter that filters nothing
  copy: {
    copy: 'Copy',
    copied: 'Copied.',
    failed: "Couldn't copy. Select the text and copy it yourself.",
  },
  paging: {
    label: 'Pages',
    newest: 'Back to newest',
    older: 'Older',
  },
}
