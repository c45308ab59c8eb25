import { createContext, useContext } from 'react'

/** What only the server knows while it renders a document. In the browser all are empty. */
export const RequestContext = createContext({ nonce: '', requestId: '', now: '' })

let failedRequestId = '' // of the last response with a 5xx status in this tab

/** Remember the id of the last request of this tab that failed, so that the error page can show it. */
export function noteFailedRequests(): void {
  const plainFetch = window.fetch
  window.fetch = async (...request) => {
    const answer = await plainFetch(...request)
    if (answer.status >= 500) failedRequestId = answer.headers.get('x-request-id') ?? ''
    return answer
  }
}

/** The id of the failed request in the log: for a document from its meta element, else as remembered. */
export function useFailedRequestId(): string {
  const { requestId } = useContext(RequestContext)
  if (typeof document === 'undefined') return requestId
  return failedRequestId || document.querySelector<HTMLMetaElement>('meta[name="request-id"]')?.content || ''
}
