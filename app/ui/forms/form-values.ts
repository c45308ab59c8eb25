import { type RefObject, useEffect, useState } from 'react'

/**
 * The values of the fields `name` in the form around `inside`: what the form would send now. Null until scripts run. The
 * component that calls this is rendered again at each change, because the form's owner is.
 */
export function useFormValues(inside: RefObject<HTMLElement>, name: string): string[] | null {
  const [values, setValues] = useState<string[] | null>(null)
  useEffect(() => {
    const form = inside.current?.closest('form')
    if (!form) return
    const now = new FormData(form).getAll(name).map(String)
    if (now.join('\n') !== values?.join('\n')) setValues(now)
  })
  return values
}
