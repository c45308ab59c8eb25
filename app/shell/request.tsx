import { createContext, useContext } from 'react'

/** What only the server knows while it makes a document. In the browser both are empty: it hides nonces from scripts. */
export const RequestContext = createContext({ nonce: '', requestId: '' })

let failedRequestId = '' // of the last answer that was our fault, in this tab

/** Remember the id of every request of this tab that fails, so that the error page can name it. */
export function noteFailedRequests(): void {
  const plainFetch = window.fetch
  window.fetch = async (...request) => {
    const answer = await plainFetch(...request)
    if (answer.status >= 500) failedRequestId = answer.headers.get('x-request-id') ?? ''
    return answer
  }
}

/** The id under which the log has what the error page is about: of a document by its meta element, else as noted. */
export function useFailedRequestId(): string {
  const { requestId } = useContext(RequestContext)
  if (typeof document === 'undefined') return requestId
  return failedRequestId || document.querySelector<HTMLMetaElement>('meta[name="request-id"]')?.content || ''
}
