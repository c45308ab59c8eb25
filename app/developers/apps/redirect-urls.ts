import {
  isListedOnce,
  isRedirectUri,
  RedirectUrisAtMost,
  redirectUriFaults,
} from '../../../server/oauth/redirect-uri.ts'

/** What is wrong with redirect URLs, one a line, while somebody types them. Each fault of a URL begins with it. */
export function faultsWhileTyping(text: string): string[] {
  const lines = linesOf(text)
  return [
    ...lines.filter((line) => !isRedirectUri(line)).map((line) => `${line}: ${redirectUriFaults.form}`),
    ...(lines.length > RedirectUrisAtMost ? [redirectUriFaults.tooMany] : []),
    ...(isListedOnce(lines) ? [] : [redirectUriFaults.twice]),
  ]
}

/** What was typed in a field with one item a line. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}
