/** Delete a working copy on the server. Throws when the server cannot be reached. */
export async function discard(organisationId: string, id: string): Promise<void> {
  const body = new URLSearchParams({ forOrganisation: organisationId, discard: id })
  await fetch('/posts/working-copy', { method: 'POST', body })
}
