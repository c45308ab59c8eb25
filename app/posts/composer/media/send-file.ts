import type { Media } from '../../../../server/media/media.ts'
import { composerStrings } from '../strings.tsx'

const strings = composerStrings.media

/** The file as the server keeps it, or a sentence that says why it does not. */
export type Answer = { media: Media; problem?: never } | { media?: never; problem: string }

type Sending = { organisationId: string; signal: AbortSignal; onProgress: (sent: number) => void }

/**
 * Send a file of the composer (server/web/files.ts). `onProgress` gets the part that is sent, from 0 to 1. Once
 * `signal` is aborted, the server keeps nothing, and the answer means nothing.
 */
export function sendFile(file: File, { organisationId, signal, onProgress }: Sending): Promise<Answer> {
  const body = new FormData()
  body.set('file', file)
  const request = new XMLHttpRequest() // fetch can't say how much is sent
  return new Promise((resolve) => {
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => resolve(answerOf(request.responseText, request.getResponseHeader('content-type')))
    request.onerror = () => resolve({ problem: strings.notSent })
    request.onabort = () => resolve({ problem: strings.notSent })
    signal.addEventListener('abort', () => request.abort())
    request.open('POST', '/media')
    request.setRequestHeader('For-Organisation', organisationId)
    request.send(body)
  })
}

/** Have the server fetch the file at `url` (app/routes/posts.media-link.ts). */
export async function fetchLink(url: string, { organisationId, signal }: Omit<Sending, 'onProgress'>): Promise<Answer> {
  const body = new URLSearchParams({ forOrganisation: organisationId, url })
  try {
    const answer = await fetch('/posts/media-link', { method: 'POST', body, signal })
    return answerOf(await answer.text(), answer.headers.get('content-type'))
  } catch {
    return { problem: strings.linkNotSent }
  }
}

// Anything but JSON is a page: signed out, or an error. `detail` comes from formOf in app/api.ts.
function answerOf(text: string, type: string | null): Answer {
  if (!type?.includes('json')) return { problem: strings.notAccepted }
  const { media, problem, detail } = JSON.parse(text)
  return media ? { media } : { problem: problem ?? detail ?? strings.notAccepted }
}
