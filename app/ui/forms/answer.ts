import type { SubmissionResult } from '@conform-to/react'
import { useActionData } from '@remix-run/react'
import type { Answer } from '../../api.ts'

/** What the action answered to the form named `intent`, for its `useForm`. Other forms of the page get nothing. */
export function useAnswer(intent = ''): { id: string; lastResult: SubmissionResult<string[]> | null; said?: string } {
  const answer = useActionData() as Answer | undefined
  const id = `form-${intent}`
  if (answer?.intent !== intent) return { id, lastResult: null }
  return { id, lastResult: answer.result, ...(answer.said ? { said: answer.said } : {}) }
}

/** The values that the form named `intent` has saved at the last press. */
export function useSaved(intent: string): object | undefined {
  const answer = useActionData() as Answer | undefined
  return answer?.intent === intent ? answer.saved : undefined
}
