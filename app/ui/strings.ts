/** What these components say themselves. Everything about a noun of the product comes in by their props. */
export const uiStrings = {
  paging: {
    label: 'Pages',
    newest: 'Back to newest',
    older: 'Older',
  },
}
