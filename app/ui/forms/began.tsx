import { useRef } from 'react'
import { useSaved } from './answer.ts'

/**
 * What the form named `intent` began with. The action saves what the person changed, not what others have changed since
 * (`withOthers` in app/api.ts). After a save, the form goes on from what it has saved.
 */
export function Began({ intent, values }: { intent: string; values: object }) {
  const saved = useSaved(intent)
  const began = useRef(values)
  if (saved) began.current = saved
  return <input type="hidden" name="began" value={JSON.stringify(began.current)} />
}
