import { MailedTokenLength } from '../../server/accounts/forms.ts'

// The pages of links that we mail. A form uses a link, because mail programs open links by themselves. The address of such
// a page is a secret: server/web/pages.ts tells no other site more than our name.

/** The token of the link that led here. Empty: there is none. */
export function tokenIn(request: Request): string {
  return (new URL(request.url).searchParams.get('token') ?? '').slice(0, 100)
}

/** Whether all of a token is there. A shorter one was cut off. */
export function isWholeToken(token: string): boolean {
  return token.length >= MailedTokenLength
}

/** What a link is about: a line of a `dl`. */
export function LinkTerm({ term, children }: { term: string; children: string }) {
  return (
    <div>
      <dt className="text-muted">{term}</dt>
      <dd className="break-words font-medium">{children}</dd>
    </div>
  )
}
