import type { SubmissionResult } from '@conform-to/react'
import { useActionData } from '@remix-run/react'
import type { Answer } from '../../api.ts'

/** What the action said to the form named `intent`, for its `useForm`, and nothing of its neighbours. */
export function useAnswer(intent = ''): { id: string; lastResult: SubmissionResult<string[]> | null; said?: string } {
  const answer = useActionData() as Answer | undefined
  const id = `form-${intent}`
  if (answer?.intent !== intent) return { id, lastResult: null }
  return { id, lastResult: answer.result, ...(answer.said ? { said: answer.said } : {}) }
}
