/** What the components of this room say themselves, of no noun of the product. */
export const uiStrings = {
  paging: {
    label: 'Pages',
    newest: 'Back to newest',
    older: 'Older',
  },
}
